// SPDX-License-Identifier: BSD-2-Clause
package checks;

import static checks.Checks.check;
import static checks.Checks.same;
import static syncedmem.Libsyncedmem.API;

import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.ByteByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.lang.reflect.Proxy;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import syncedmem.SyncedmemLibrary;
import syncedmem.SyncedmemLibrary.Status;
import syncedmem.SyncedmemLibrary.Syncedmem;

/** The C API as it is, called from Java. */
final class CallsOfC {
    private CallsOfC() {}

    /** A function of the C library that shows which bits it was given. */
    public interface Bits extends Library {
        Map<String, Object> OPTIONS = SyncedmemLibrary.OPTIONS;

        int toascii(boolean value);
    }

    static void all(Description description) {
        check("every function of the description is in the library", () -> {
            for (String name : description.functionNames()) {
                library().getFunction(name);
            }
        });
        check("true travels as 1, and false as 0", () -> {
            Bits bits = Native.load("c", Bits.class, Bits.OPTIONS);
            same("true", 1, bits.toascii(true));
            same("false", 0, bits.toascii(false));
            ByteByReference on = new ByteByReference((byte) 9);
            for (boolean wanted : new boolean[] {false, true}) {
                same("set", 0, API.syncedmem_set_compare(wanted));
                same("get", 0, API.syncedmem_get_compare(on));
                same("compare", (byte) (wanted ? 1 : 0), on.getValue());
            }
            API.syncedmem_set_compare(false);
        });
        check("the structure of statistics is as long as the library's", () -> {
            SyncedmemLibrary.Stats stats = new SyncedmemLibrary.Stats();
            long room = stats.size() + 64;
            Memory memory = new Memory(room);
            memory.clear();
            memory.setLong(0, room);
            same("status", 0, library().getFunction("syncedmem_stats").invokeInt(new Object[] {memory}));
            same("bytes that the library knows", (long) stats.size(), memory.getLong(0));
        });
        check("a model file is opened and its values are read", () -> {
            Path file = Files.createTempFile("syncedmem", ".caffemodel");
            // A layer "größe" with a blob of the two floats 1.5 and -2.
            String model = "a2061a0a076772c3b6c39f653a0f2a080000c03f000000c03a030a0102";
            byte[] signed = new BigInteger(model, 16).toByteArray();
            Files.write(file, Arrays.copyOfRange(signed, 1, signed.length));
            PointerByReference made = new PointerByReference();
            same("open", 0, API.syncedmem_model_open(file.toString(), made));
            SyncedmemLibrary.Model opened = new SyncedmemLibrary.Model(made.getValue());
            PointerByReference name = new PointerByReference();
            PointerByReference type = new PointerByReference();
            LongByReference blobs = new LongByReference();
            same("layer", 0, API.syncedmem_model_layer(opened, 0, name, type, blobs));
            same("name", "größe", name.getValue().getString(0, "UTF-8"));
            same("blobs", 1L, blobs.getValue());
            SyncedmemLibrary.BlobInfo info = new SyncedmemLibrary.BlobInfo();
            info.size = info.size();
            same("blob_info", 0, API.syncedmem_model_blob_info(opened, 0, 0, info));
            same("axes", 1, info.axes);
            same("shape", 2L, info.shape.getLong(0));
            PointerByReference memory = new PointerByReference();
            same("create", 0, API.syncedmem_create(8, memory));
            Syncedmem mem = new Syncedmem(memory.getValue());
            same("read_blob", 0, API.syncedmem_model_read_blob(opened, 0, 0, 0, info.element_type, mem));
            PointerByReference data = new PointerByReference();
            same("cpu_data", 0, API.syncedmem_cpu_data(mem, data));
            same("values", "[1.5, -2.0]", Arrays.toString(data.getValue().getFloatArray(0, 2)));
            same("destroy", 0, API.syncedmem_destroy(mem));
            same("close", 0, API.syncedmem_model_close(opened));
            Files.delete(file);
        });
        check("text comes and goes as UTF-8", () -> {
            PointerByReference made = new PointerByReference();
            same("create", 0, API.syncedmem_create(16, made));
            Syncedmem mem = new Syncedmem(made.getValue());
            byte[] text = new byte[64];
            LongByReference length = new LongByReference();
            same("set_name", 0, API.syncedmem_set_name(mem, "größe ≤ 3"));
            same("get_name", 0, API.syncedmem_get_name(mem, text, text.length, length));
            same("name", "größe ≤ 3", new String(text, 0, (int) length.getValue(), StandardCharsets.UTF_8));
            same("destroy", 0, API.syncedmem_destroy(mem));
        });
        check("text with a NUL in it is an exception, and null is NULL", () -> {
            Checks.refused(IllegalArgumentException.class, () -> API.syncedmem_trace_start("trace\0.json"));
            same("NULL", Status.ERROR_INVALID_ARGUMENT.value, API.syncedmem_trace_start(null));
        });
        check("a callback of Java's is asked for the mode", () -> {
            int[] asked = {0};
            Pointer[] given = {null};
            SyncedmemLibrary.ModeCallback callback = user -> {
                asked[0]++;
                given[0] = user;
                return 0;
            };
            Pointer user = Pointer.createConstant(4711);
            same("set", 0, API.syncedmem_set_mode_callback(callback, user));
            PointerByReference data = new PointerByReference();
            ByteByReference pinned = new ByteByReference();
            same("allocate", 0, API.CaffeMallocHost(data, 64, pinned));
            same("unset", 0, API.syncedmem_set_mode_callback(null, null));
            same("free", 0, API.CaffeFreeHost(data.getValue(), pinned.getValue() != 0));
            same("calls", 1, asked[0]);
            same("user", user, given[0]);
        });
        check("a handle that is none is a status and a sentence", () -> {
            refused(Status.ERROR_INVALID_ARGUMENT, null);
            refused(Status.ERROR_INVALID_ARGUMENT, new Syncedmem(Pointer.createConstant(3)));
            Memory foreign = new Memory(64);
            foreign.setMemory(0, 64, (byte) 0x5A);
            refused(Status.ERROR_INVALID_HANDLE, new Syncedmem(foreign));
        });
        check("a handle after its end is a status and a sentence", () -> {
            // In storage of our own: what syncedmem_destroy frees, the virtual machine may have reused already.
            Memory storage = new Memory(64);
            PointerByReference made = new PointerByReference();
            same("construct", 0, API.syncedmem_construct(storage, 64, 16, made));
            Syncedmem mem = new Syncedmem(made.getValue());
            same("destruct", 0, API.syncedmem_destruct(mem));
            refused(Status.ERROR_INVALID_HANDLE, mem);
            same("destructed again", Status.ERROR_INVALID_HANDLE.value, API.syncedmem_destruct(mem));
        });
    }

    private static NativeLibrary library() {
        return ((Library.Handler) Proxy.getInvocationHandler(API)).getNativeLibrary();
    }

    private static void refused(Status with, Syncedmem handle) {
        PointerByReference data = new PointerByReference(Pointer.createConstant(7));
        same("status", with.value, API.syncedmem_cpu_data(handle, data));
        same("data", Pointer.createConstant(7), data.getValue());
        if (!API.syncedmem_last_error().startsWith("syncedmem_cpu_data")) {
            throw new AssertionError("the sentence is: " + API.syncedmem_last_error());
        }
    }
}
