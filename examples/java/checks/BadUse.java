// SPDX-License-Identifier: BSD-2-Clause
package checks;

import static checks.Checks.check;
import static checks.Checks.refused;
import static checks.Checks.same;
import static syncedmem.Libsyncedmem.API;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import syncedmem.DeviceData;
import syncedmem.SyncedMemory;
import syncedmem.SyncedmemException;
import syncedmem.SyncedmemLibrary.Head;
import syncedmem.SyncedmemLibrary.Status;

/** Wrong uses of one object: each throws an exception and changes nothing. */
final class BadUse {
    private BadUse() {}

    static void all() {
        check("use after close is an IllegalStateException", () -> {
            SyncedMemory mem = new SyncedMemory(64);
            DeviceData device = mem.gpuData();
            device.close();
            device.close();
            mem.close();
            mem.close();
            refused(IllegalStateException.class, mem::cpuData);
            refused(IllegalStateException.class, mem::overwriteGpuData);
            refused(IllegalStateException.class, mem::head);
            refused(IllegalStateException.class, mem::hostExports);
            refused(IllegalStateException.class, () -> mem.setName("late"));
            refused(IllegalStateException.class, () -> mem.call(API::syncedmem_pin));
            refused(IllegalStateException.class, device::address);
            same("text", "SyncedMemory[closed]", mem.toString());
        });
        check("a size that cannot be is an exception", () -> {
            refused(IllegalArgumentException.class, () -> new SyncedMemory(-1));
            SyncedmemException.OutOfMemory none =
                    refused(SyncedmemException.OutOfMemory.class, () -> new SyncedMemory(Long.MAX_VALUE));
            same("status", Status.ERROR_OUT_OF_MEMORY, none.status());
            sentence(none, "syncedmem_create");
        });
        check("memory that there is not is an exception, and the virtual machine lives", () -> {
            try (SyncedMemory mem = new SyncedMemory(1L << 46)) {
                sentence(refused(SyncedmemException.OutOfMemory.class, () -> mem.cpuData(0, 16)), "64.0 TiB");
                sentence(refused(SyncedmemException.OutOfMemory.class, mem::mutableGpuData), "64.0 TiB");
                same("head", Head.UNINITIALIZED, mem.head());
                same("exports", 0L, mem.hostExports());
            }
        });
        check("a part that is not there is an exception, and no access", () -> {
            try (SyncedMemory mem = new SyncedMemory(3L << 30)) {
                refused(IllegalArgumentException.class, mem::overwriteCpuData);
                refused(IndexOutOfBoundsException.class, () -> mem.cpuData(-1, 4));
                refused(IndexOutOfBoundsException.class, () -> mem.cpuData(0, -4));
                refused(IndexOutOfBoundsException.class, () -> mem.cpuData((3L << 30) - 3, 4));
                refused(IndexOutOfBoundsException.class, () -> mem.cpuData(Long.MAX_VALUE, Long.MAX_VALUE));
                same("head", Head.UNINITIALIZED, mem.head());
                same("beyond 2 GiB", 0, (int) mem.cpuData((3L << 30) - 1, 1).get(0));
            }
        });
        check("reading beyond the end is an exception", () -> {
            try (SyncedMemory mem = new SyncedMemory(16)) {
                FloatBuffer floats = mem.mutableCpuData().asFloatBuffer();
                same("floats", 4, floats.capacity());
                refused(IndexOutOfBoundsException.class, () -> floats.get(4));
                refused(BufferOverflowException.class, () -> floats.put(new float[5]));
            }
        });
        check("writing to what was asked for to read is an exception", () -> {
            try (SyncedMemory mem = new SyncedMemory(16)) {
                ByteBuffer data = mem.cpuData();
                refused(ReadOnlyBufferException.class, () -> data.put(0, (byte) 1));
                refused(ReadOnlyBufferException.class, () -> data.asFloatBuffer().put(0, 1));
                refused(ReadOnlyBufferException.class, () -> data.duplicate().put(0, (byte) 1));
                same("byte", (byte) 0, data.get(0));
            }
        });
        check("no bytes are no special case", () -> {
            try (SyncedMemory mem = new SyncedMemory(0);
                    DeviceData device = mem.gpuData()) {
                same("host", 0, mem.mutableCpuData().capacity());
                same("device", 0L, device.address());
            }
        });
        check("a name that cannot be is an exception", () -> {
            try (SyncedMemory mem = new SyncedMemory(16)) {
                refused(NullPointerException.class, () -> mem.setName(null));
                refused(IllegalArgumentException.class, () -> mem.setName("conv1\0.weights"));
                SyncedmemException empty = refused(SyncedmemException.class, () -> mem.setName(""));
                same("status", Status.ERROR_INVALID_ARGUMENT, empty.status());
                sentence(empty, "syncedmem_set_name");
                refused(SyncedmemException.class, () -> mem.setName("x".repeat(201)));
            }
        });
        check("what would move memory that is in use is an exception", () -> {
            try (SyncedMemory mem = new SyncedMemory(16)) {
                ByteBuffer data = mem.mutableCpuData();
                mem.mutableGpuData().close();
                SyncedmemException kept =
                        refused(SyncedmemException.class, () -> mem.call(API::syncedmem_release_cpu));
                same("status", Status.ERROR_EXPORTED, kept.status());
                sentence(kept, "syncedmem_release_cpu");
                same("byte", (byte) 0, data.get(0));
            }
        });
    }

    private static void sentence(SyncedmemException failure, String with) {
        if (!failure.getMessage().contains(with)) {
            throw new AssertionError("the sentence lacks '" + with + "': " + failure.getMessage());
        }
    }
}
