// SPDX-License-Identifier: BSD-2-Clause
package checks;

import static checks.Checks.becomes;
import static checks.Checks.check;
import static checks.Checks.same;

import com.sun.jna.Function;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import java.nio.FloatBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import syncedmem.DeviceData;
import syncedmem.Libsyncedmem;
import syncedmem.SyncedMemory;
import syncedmem.SyncedmemLibrary;
import syncedmem.SyncedmemLibrary.Head;

/** Which objects keep memory, what ends it, and on which thread. */
final class Lifetimes {
    private static final int BYTES = 1 << 20;

    private Lifetimes() {}

    static void all() {
        check("a buffer outlives its memory, closed or forgotten, and ends it when it is garbage", () -> {
            for (boolean close : new boolean[] {true, false}) {
                FloatBuffer[] kept = {outliving(close)};
                // Objects that were garbage before this one are ended when this one is.
                long ended = Libsyncedmem.stats().objects_ended;
                forgotten();
                becomes("another object is ended", () -> Libsyncedmem.stats().objects_ended > ended && live() <= BYTES);
                same("held", (long) BYTES, live());
                same("first", 7f, kept[0].get(0));
                same("last", 7f, kept[0].get(kept[0].capacity() - 1));
                kept[0] = null;
                becomes("the host's memory is given back", () -> live() == 0);
            }
        });
        check("a buffer that is garbage is no export any more", () -> {
            try (SyncedMemory mem = new SyncedMemory(64)) {
                mem.cpuData();
                becomes("there are no exports", () -> mem.hostExports() == 0);
            }
        });
        check("an address on the device outlives its memory until it is closed", () -> {
            long before = Libsyncedmem.stats().device.live;
            DeviceData device;
            try (SyncedMemory mem = new SyncedMemory(BYTES)) {
                device = mem.mutableGpuData();
                same("exports", 1L, mem.deviceExports());
            }
            same("held", before + BYTES, Libsyncedmem.stats().device.live);
            device.close();
            same("given back", before, Libsyncedmem.stats().device.live);
        });
        check("an object that was not closed is ended on another thread, on both sides", () -> {
            long ended = Libsyncedmem.stats().objects_ended;
            long device = Libsyncedmem.stats().device.live;
            for (int i = 0; i < 8; i++) {
                forgotten();
            }
            becomes("eight objects are ended", () -> Libsyncedmem.stats().objects_ended >= ended + 8);
            same("on the device", device, Libsyncedmem.stats().device.live);
        });
        check("threads that close and read at once get data or an IllegalStateException", () -> {
            for (int round = 0; round < 50; round++) {
                closedWhileRead();
            }
        });
        check("what one thread wrote another reads, and a third closes", () -> {
            SyncedMemory mem = new SyncedMemory(16);
            elsewhere(() -> mem.mutableCpuData().putInt(0, 4711));
            elsewhere(() -> mem.gpuData().close());
            same("head", Head.SYNCED, mem.head());
            elsewhere(() -> same("value", 4711, mem.cpuData().getInt(0)));
            elsewhere(mem::close);
            same("text", "SyncedMemory[closed]", mem.toString());
        });
    }

    /** Only the simulated driver can show these: little memory, and at the end that no rule was broken. */
    static void driver() {
        Function violations;
        Function setMemory;
        try {
            violations = NativeLibrary.getInstance("libcuda.so.1").getFunction("simcuda_violations");
            setMemory = NativeLibrary.getInstance("libcuda.so.1").getFunction("simcuda_set_memory");
        } catch (UnsatisfiedLinkError real) {
            return;
        }
        check("garbage is collected before memory has run out", () -> {
            becomes("nothing is held on the device", () -> Libsyncedmem.stats().device.live == 0);
            setMemory.invokeVoid(new Object[] {0, 4L * BYTES});
            for (int i = 0; i < 12; i++) {
                try (SyncedMemory mem = new SyncedMemory(BYTES)) {
                    mem.overwriteGpuData(); // never closed
                }
            }
        });
        check("no rule of the driver's was broken", () -> {
            byte[] text = new byte[4096];
            long rules = violations.invokeLong(new Object[] {text, (long) text.length});
            same(Native.toString(text), 0L, rules);
        });
    }

    private static long live() {
        SyncedmemLibrary.Stats stats = Libsyncedmem.stats();
        return stats.pageable.live + stats.pinned.live;
    }

    /** Only what is derived from the buffer is left of it. */
    private static FloatBuffer outliving(boolean close) {
        SyncedMemory mem = new SyncedMemory(BYTES);
        FloatBuffer floats = mem.mutableCpuData().asFloatBuffer();
        for (int i = 0; i < floats.capacity(); i++) {
            floats.put(i, 7);
        }
        FloatBuffer kept = mem.cpuData().duplicate().order(floats.order()).asFloatBuffer().slice();
        if (close) {
            mem.close();
        }
        return kept;
    }

    private static void forgotten() {
        SyncedMemory mem = new SyncedMemory(BYTES);
        mem.mutableCpuData();
        mem.gpuData();
    }

    private static void closedWhileRead() throws Exception {
        SyncedMemory mem = new SyncedMemory(4096);
        mem.mutableCpuData().putInt(4092, 7);
        CountDownLatch go = new CountDownLatch(3);
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Thread[] readers = new Thread[3];
        for (int i = 0; i < readers.length; i++) {
            readers[i] = new Thread(() -> {
                try {
                    go.countDown();
                    go.await();
                    while (true) {
                        same("value", 7, mem.cpuData().getInt(4092));
                    }
                } catch (IllegalStateException closed) {
                    // As it should be.
                } catch (Throwable failure) {
                    wrong.set(failure);
                }
            });
            readers[i].start();
        }
        go.await();
        mem.close();
        for (Thread reader : readers) {
            reader.join();
        }
        if (wrong.get() != null) {
            throw new AssertionError("a reader", wrong.get());
        }
    }

    private static void elsewhere(Checks.Body body) throws Exception {
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Throwable failure) {
                wrong.set(failure);
            }
        });
        thread.start();
        thread.join();
        if (wrong.get() != null) {
            throw new AssertionError("on another thread", wrong.get());
        }
    }
}
