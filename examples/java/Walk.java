// The walk of Caffe's tutorial on blobs, from Java: which access copies, and which does not.
// SPDX-License-Identifier: BSD-2-Clause

import java.nio.FloatBuffer;
import java.util.Locale;
import syncedmem.Libsyncedmem;
import syncedmem.SyncedMemory;
import syncedmem.SyncedmemLibrary;

final class Walk {
    private long toGpu;
    private long toCpu;

    /** One line: the access, where the newest data is now, and the copies so far. */
    private void show(SyncedMemory mem, String access) {
        SyncedmemLibrary.Stats stats = Libsyncedmem.stats();
        long n = stats.to_device_pinned.count + stats.to_device_staged.count + stats.to_device_pageable.count;
        long m = stats.to_host_pinned.count + stats.to_host_staged.count + stats.to_host_pageable.count;
        String copied = n > toGpu ? "data copied cpu->gpu" : m > toCpu ? "data copied gpu->cpu" : "no data copied";
        System.out.printf(Locale.ROOT, "%-18s %-13s cpu->gpu %d, gpu->cpu %d   %s%n", access, mem.head(), n, m, copied);
        toGpu = n;
        toCpu = m;
    }

    private void run() {
        // snippet:begin
        try (SyncedMemory mem = new SyncedMemory(1024 * Float.BYTES)) {
            FloatBuffer bar = mem.mutableCpuData().asFloatBuffer();
            for (int i = 0; i < bar.capacity(); i++) {
                bar.put(i, 1);
            }
            mem.gpuData(); // data copied cpu->gpu
            // snippet:end
            System.out.printf(Locale.ROOT, "%d floats, %d bytes%n", mem.size() / Float.BYTES, mem.size());
            show(mem, "gpu_data");
            mem.cpuData();
            show(mem, "cpu_data");
            mem.mutableGpuData();
            show(mem, "mutable_gpu_data");
            mem.mutableGpuData();
            show(mem, "mutable_gpu_data");
            mem.cpuData();
            show(mem, "cpu_data");
            mem.gpuData();
            show(mem, "gpu_data");
            mem.mutableCpuData();
            show(mem, "mutable_cpu_data");
            mem.mutableGpuData();
            show(mem, "mutable_gpu_data");
            FloatBuffer data = mem.mutableCpuData().asFloatBuffer();
            show(mem, "mutable_cpu_data");
            float first = data.get(0);
            float last = data.get(data.capacity() - 1);
            System.out.printf(Locale.ROOT, "first %.0f, last %.0f%n", first, last);
            // snippet:begin
        } // the object ends here
        // snippet:end
    }

    public static void main(String[] arguments) {
        if (!Libsyncedmem.cudaAvailable()) {
            System.err.println(Libsyncedmem.cudaStatus());
            System.exit(1);
        }
        Libsyncedmem.setAccounting(SyncedmemLibrary.Accounting.ACCOUNTING_ON);
        new Walk().run();
    }
}
