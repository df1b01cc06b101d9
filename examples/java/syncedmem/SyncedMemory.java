// SPDX-License-Identifier: BSD-2-Clause
package syncedmem;

import static syncedmem.Libsyncedmem.API;
import static syncedmem.Libsyncedmem.check;

import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.ToIntFunction;

/**
 * Memory with a host side and a device side: each is allocated when it is first touched, and copied only when the other
 * is newer.
 *
 * <p>A buffer can never dangle: it keeps its memory, also after {@link #close}, until it and everything made from it is
 * garbage; the memory ends with the last of them. A {@link Cleaner} ends objects that
 * were not closed. The collector does not know how large they are: when memory runs out, garbage is collected before that
 * is an error.
 *
 * <p>What is written to a buffer after the device's data was asked for is lost, as it is in C: ask for {@link
 * #mutableCpuData} anew before writing.
 *
 * <p>Every method may be called on any thread: readers at once, the others one after another. What threads do with the
 * bytes of a buffer is their own affair.
 */
public final class SyncedMemory implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();
    /** How often garbage is collected before memory has run out. */
    private static final int COLLECTIONS = 2;

    private final State state;
    private final Cleaner.Cleanable cleanable;
    private final long size;

    /** The handle, apart from the object, so that a Cleaner can end it. */
    private static final class State implements Runnable {
        final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        /** Null after the end. */
        private SyncedmemLibrary.Syncedmem handle;

        State(SyncedmemLibrary.Syncedmem handle) {
            this.handle = handle;
        }

        /** Calls C with the handle; alone, or beside other readers. */
        void call(Lock held, ToIntFunction<SyncedmemLibrary.Syncedmem> function) {
            held.lock();
            try {
                if (handle == null) {
                    throw new IllegalStateException("this SyncedMemory is closed");
                }
                check(function.applyAsInt(handle));
            } finally {
                held.unlock();
            }
        }

        @Override
        public void run() {
            lock.writeLock().lock();
            try {
                SyncedmemLibrary.Syncedmem ended = handle;
                handle = null;
                check(API.syncedmem_destroy(ended));
            } finally {
                lock.writeLock().unlock();
            }
        }
    }

    /** Memory of so many bytes on each side, neither of which is allocated yet. */
    public SyncedMemory(long bytes) {
        if (bytes < 0) {
            throw new IllegalArgumentException("a size of " + bytes + " bytes");
        }
        PointerByReference mem = new PointerByReference();
        check(API.syncedmem_create(bytes, mem));
        size = bytes;
        state = new State(new SyncedmemLibrary.Syncedmem(mem.getValue()));
        cleanable = CLEANER.register(this, state);
    }

    /** How many bytes each side has. */
    public long size() {
        return size;
    }

    /** Where the newest data is. */
    public SyncedmemLibrary.Head head() {
        IntByReference head = new IntByReference();
        read(handle -> API.syncedmem_head(handle, head));
        return SyncedmemLibrary.Head.of(head.getValue());
    }

    /** The host's data, to read: writing to it is a ReadOnlyBufferException. */
    public ByteBuffer cpuData() {
        return cpuData(0, size);
    }

    /** A part of the host's data, to read: no ByteBuffer has more than 2 GiB. */
    public ByteBuffer cpuData(long offset, long bytes) {
        return host(SyncedmemLibrary.Access.READ, offset, bytes).asReadOnlyBuffer().order(ByteOrder.nativeOrder());
    }

    /** The host's data, to read and write; the host is the newest side afterwards. */
    public ByteBuffer mutableCpuData() {
        return mutableCpuData(0, size);
    }

    /** A part of the host's data, to read and write. */
    public ByteBuffer mutableCpuData(long offset, long bytes) {
        return host(SyncedmemLibrary.Access.WRITE, offset, bytes);
    }

    /** The host's data, all of it to be written: neither zeroed nor copied. */
    public ByteBuffer overwriteCpuData() {
        return overwriteCpuData(0, size);
    }

    /** A part of the host's data; all parts are to be written. */
    public ByteBuffer overwriteCpuData(long offset, long bytes) {
        return host(SyncedmemLibrary.Access.OVERWRITE, offset, bytes);
    }

    /** The device's data, to read. */
    public DeviceData gpuData() {
        return device(SyncedmemLibrary.Access.READ);
    }

    /** The device's data, to read and write; the device is the newest side afterwards. */
    public DeviceData mutableGpuData() {
        return device(SyncedmemLibrary.Access.WRITE);
    }

    /** The device's data, all of it to be written. */
    public DeviceData overwriteGpuData() {
        return device(SyncedmemLibrary.Access.OVERWRITE);
    }

    /** How many buffers of the host's side are alive. */
    public long hostExports() {
        return exports()[0];
    }

    /** How many addresses of the device's side are alive. */
    public long deviceExports() {
        return exports()[1];
    }

    /** Names its memory in reports and traces. */
    public void setName(String name) {
        Objects.requireNonNull(name);
        call(handle -> API.syncedmem_set_name(handle, name));
    }

    /** Calls any other function of the API, one thread at a time; it must neither keep nor end the handle. */
    public void call(ToIntFunction<SyncedmemLibrary.Syncedmem> function) {
        locked(state.lock.writeLock(), function);
    }

    /** Ends it; its memory ends with the last buffer that is alive. What is closed already stays so. */
    @Override
    public void close() {
        cleanable.clean();
    }

    @Override
    public String toString() {
        try {
            return "SyncedMemory[" + size + " bytes, " + head() + "]";
        } catch (IllegalStateException closed) {
            return "SyncedMemory[closed]";
        }
    }

    private void read(ToIntFunction<SyncedmemLibrary.Syncedmem> function) {
        locked(state.lock.readLock(), function);
    }

    private void locked(Lock lock, ToIntFunction<SyncedmemLibrary.Syncedmem> function) {
        try {
            state.call(lock, function);
        } finally {
            // Or the Cleaner might end it before the lock is held: of `new SyncedMemory(n).cpuData()` nothing else is left.
            Reference.reachabilityFence(this);
        }
    }

    private long[] exports() {
        LongByReference host = new LongByReference();
        LongByReference device = new LongByReference();
        read(handle -> API.syncedmem_exports(handle, host, device));
        return new long[] {host.getValue(), device.getValue()};
    }

    /** One access, and what keeps its memory. */
    private Tensor export(SyncedmemLibrary.Side side, SyncedmemLibrary.Access access) {
        PointerByReference tensor = new PointerByReference();
        ToIntFunction<SyncedmemLibrary.Syncedmem> function = handle -> API.syncedmem_to_dlpack(
                handle, side.value, access.value, Tensor.UINT, (byte) 8, 1, new long[] {size}, true, tensor);
        Lock lock = access == SyncedmemLibrary.Access.READ ? state.lock.readLock() : state.lock.writeLock();
        for (int attempt = 0; ; attempt++) {
            try {
                state.call(lock, function);
                return new Tensor(tensor.getValue());
            } catch (SyncedmemException.OutOfMemory none) {
                if (attempt == COLLECTIONS) {
                    throw none;
                }
            }
            collect();
        }
    }

    /** Garbage may hold what there is no room for: the collector does not know how large it is. */
    private static void collect() {
        CountDownLatch collected = new CountDownLatch(1);
        CLEANER.register(new Object(), collected::countDown);
        System.gc();
        try {
            collected.await(100, TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private ByteBuffer host(SyncedmemLibrary.Access access, long offset, long bytes) {
        // Before the access, which changes the head: what is refused has changed nothing.
        if (offset < 0 || bytes < 0 || offset > size - bytes) {
            throw new IndexOutOfBoundsException(bytes + " bytes at " + offset + " of " + size);
        }
        if (bytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(bytes + " bytes: a ByteBuffer has no more than 2 GiB; ask for a part");
        }
        Tensor tensor = export(SyncedmemLibrary.Side.HOST, access);
        try {
            // Every buffer made from this one refers to it, so that it is garbage only when they all are.
            ByteBuffer buffer = tensor.data().getByteBuffer(offset, bytes);
            CLEANER.register(buffer, tensor);
            return buffer.order(ByteOrder.nativeOrder());
        } catch (Throwable failed) {
            tensor.run();
            throw failed;
        }
    }

    private DeviceData device(SyncedmemLibrary.Access access) {
        Tensor tensor = export(SyncedmemLibrary.Side.DEVICE, access);
        try {
            return new DeviceData(tensor, size, CLEANER);
        } catch (Throwable failed) {
            tensor.run();
            throw failed;
        }
    }
}
