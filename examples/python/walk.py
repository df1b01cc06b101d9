"""The walk of Caffe's tutorial on blobs, with the package syncedmem: which access copies, and which does not."""

import sys

import numpy as np
import syncedmem


class Walk:
    """Prints one line: the access, the side with the newest data, and the numbers of copies."""

    def __init__(self, memory: syncedmem.SyncedMemory) -> None:
        self.memory = memory
        self.to_gpu = self.to_cpu = 0

    def show(self, access: str) -> None:
        now = syncedmem.stats()
        to_gpu = now.to_device_pinned.count + now.to_device_pageable.count
        to_cpu = now.to_host_pinned.count + now.to_host_pageable.count
        copied = (
            "data copied cpu->gpu"
            if to_gpu > self.to_gpu
            else "data copied gpu->cpu"
            if to_cpu > self.to_cpu
            else "no data copied"
        )
        print(f"{access:<18} {self.memory.head.name:<13} cpu->gpu {to_gpu}, gpu->cpu {to_cpu}   {copied}")
        self.to_gpu, self.to_cpu = to_gpu, to_cpu


def main() -> None:
    memory = syncedmem.SyncedMemory(1024 * 4)
    floats = memory.array(np.float32)
    floats.mutable_cpu_data()[:] = 1
    floats.gpu_data()  # data copied cpu->gpu
    print(f"{floats.size} floats, {memory.nbytes} bytes")
    walk = Walk(memory)
    walk.show("gpu_data")
    floats.cpu_data()
    walk.show("cpu_data")
    floats.mutable_gpu_data()
    walk.show("mutable_gpu_data")
    floats.mutable_gpu_data()
    walk.show("mutable_gpu_data")
    floats.cpu_data()
    walk.show("cpu_data")
    floats.gpu_data()
    walk.show("gpu_data")
    floats.mutable_cpu_data()
    walk.show("mutable_cpu_data")
    floats.mutable_gpu_data()
    walk.show("mutable_gpu_data")
    data = floats.mutable_cpu_data()
    walk.show("mutable_cpu_data")
    print(f"first {data[0]:g}, last {data[-1]:g}")


if __name__ == "__main__":
    found = syncedmem.cuda_status()
    if not found.available:
        sys.exit(found.sentence)
    try:
        syncedmem.set_accounting(syncedmem.Accounting.ON)
        main()
    except (MemoryError, syncedmem.Error) as error:
        sys.exit(str(error))
