// The walk of Caffe's tutorial on blobs, from Java by JNA: which access copies, and which does not. The walk declares the functions and
// structures of syncedmem.h that it calls; jextract (Java 22 or later) generates all of them from the header.
// SPDX-License-Identifier: BSD-2-Clause

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;
import java.nio.FloatBuffer;
import java.util.Locale;

public final class Walk {
    /** Functions of syncedmem.h. A {@code size_t} is a Java {@code long} on the 64-bit systems that the library runs on. */
    public interface Api extends Library {
        int syncedmem_create(long size, PointerByReference mem);

        int syncedmem_destroy(Pointer mem);

        int syncedmem_cpu_data(Pointer mem, PointerByReference data);

        int syncedmem_mutable_cpu_data(Pointer mem, PointerByReference data);

        int syncedmem_gpu_data(Pointer mem, PointerByReference data);

        int syncedmem_mutable_gpu_data(Pointer mem, PointerByReference data);

        int syncedmem_head(Pointer mem, IntByReference head);

        int syncedmem_set_accounting(int accounting);

        int syncedmem_stats(Stats stats);

        int syncedmem_cuda_status(PointerByReference sentence);

        String syncedmem_last_error();
    }

    @FieldOrder({"count", "bytes", "nanoseconds"})
    public static class Sum extends Structure {
        public long count, bytes, nanoseconds;
    }

    @FieldOrder({"live", "peak", "idle", "budget", "allocations", "pool_hits", "frees"})
    public static class Memory extends Structure {
        public long live, peak, idle, budget;
        public Sum allocations, pool_hits, frees;
    }

    /** The members of syncedmem_stats_t up to the copies: the library writes as many bytes as {@code size} says. */
    @FieldOrder({"size", "pageable", "pinned", "device", "to_device_pinned", "to_device_pageable",
        "to_host_pinned", "to_host_pageable"})
    public static class Stats extends Structure {
        public long size;
        public Memory pageable, pinned, device;
        public Sum to_device_pinned, to_device_pageable;
        public Sum to_host_pinned, to_host_pageable;
    }

    private static final int SYNCEDMEM_SUCCESS = 0;
    private static final int SYNCEDMEM_ERROR_OUT_OF_MEMORY = 3;
    private static final int SYNCEDMEM_ACCOUNTING_ON = 1;
    private static final String[] HEADS = {"UNINITIALIZED", "HEAD_AT_CPU", "HEAD_AT_GPU", "SYNCED"};

    // If a Caffe in the process runs on the library, this name finds the same file.
    private static final Api API = Native.load(System.getenv().getOrDefault("SYNCEDMEM_LIBRARY", "libsyncedmem.so.0"), Api.class);

    private long toGpu;
    private long toCpu;

    /** Throws the library's sentence for this thread if the call failed. */
    private static void check(int status) {
        if (status == SYNCEDMEM_ERROR_OUT_OF_MEMORY) {
            throw new OutOfMemoryError(API.syncedmem_last_error());
        }
        if (status != SYNCEDMEM_SUCCESS) {
            throw new IllegalStateException(API.syncedmem_last_error());
        }
    }

    /** Prints one line: the access, the side with the newest data, and the numbers of copies. */
    private void show(Pointer mem, String access) {
        Stats stats = new Stats();
        stats.size = stats.size();
        check(API.syncedmem_stats(stats));
        IntByReference head = new IntByReference();
        check(API.syncedmem_head(mem, head));
        long n = stats.to_device_pinned.count + stats.to_device_pageable.count;
        long m = stats.to_host_pinned.count + stats.to_host_pageable.count;
        String copied = n > toGpu ? "data copied cpu->gpu" : m > toCpu ? "data copied gpu->cpu" : "no data copied";
        System.out.printf(Locale.ROOT, "%-18s %-13s cpu->gpu %d, gpu->cpu %d   %s%n", access, HEADS[head.getValue()], n, m, copied);
        toGpu = n;
        toCpu = m;
    }

    private void run() {
        long bytes = 1024 * Float.BYTES;
        PointerByReference created = new PointerByReference();
        PointerByReference data = new PointerByReference();
        check(API.syncedmem_create(bytes, created));
        Pointer mem = created.getValue();
        try {
            check(API.syncedmem_mutable_cpu_data(mem, data));
            FloatBuffer bar = data.getValue().getByteBuffer(0, bytes).asFloatBuffer();
            for (int i = 0; i < bar.capacity(); i++) {
                bar.put(i, 1);
            }
            check(API.syncedmem_gpu_data(mem, data)); // data copied cpu->gpu
            System.out.printf(Locale.ROOT, "%d floats, %d bytes%n", bar.capacity(), bytes);
            show(mem, "gpu_data");
            check(API.syncedmem_cpu_data(mem, data));
            show(mem, "cpu_data");
            check(API.syncedmem_mutable_gpu_data(mem, data));
            show(mem, "mutable_gpu_data");
            check(API.syncedmem_mutable_gpu_data(mem, data));
            show(mem, "mutable_gpu_data");
            check(API.syncedmem_cpu_data(mem, data));
            show(mem, "cpu_data");
            check(API.syncedmem_gpu_data(mem, data));
            show(mem, "gpu_data");
            check(API.syncedmem_mutable_cpu_data(mem, data));
            show(mem, "mutable_cpu_data");
            check(API.syncedmem_mutable_gpu_data(mem, data));
            show(mem, "mutable_gpu_data");
            check(API.syncedmem_mutable_cpu_data(mem, data));
            show(mem, "mutable_cpu_data");
            FloatBuffer read = data.getValue().getByteBuffer(0, bytes).asFloatBuffer();
            System.out.printf(Locale.ROOT, "first %.0f, last %.0f%n", read.get(0), read.get(read.capacity() - 1));
        } finally {
            check(API.syncedmem_destroy(mem)); // the buffers' memory ends here
        }
    }

    public static void main(String[] arguments) {
        PointerByReference sentence = new PointerByReference();
        if (API.syncedmem_cuda_status(sentence) != SYNCEDMEM_SUCCESS) {
            System.err.println(sentence.getValue().getString(0, "UTF-8"));
            System.exit(1);
        }
        check(API.syncedmem_set_accounting(SYNCEDMEM_ACCOUNTING_ON));
        new Walk().run();
    }
}
