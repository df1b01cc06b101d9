"""A walk through Caffe's `Blob`: shapes, capacity, data and diff, sharing, and copies."""

import sys

import syncedmem


class Walk:
    """Prints one line: the step, the shape, the heads of data and diff, the capacity in bytes, and the copy."""

    def __init__(self) -> None:
        self.to_gpu = self.to_cpu = 0

    def show(self, blob: syncedmem.Blob, step: str) -> None:
        now = syncedmem.stats()
        to_gpu = now.to_device_pinned.count + now.to_device_pageable.count
        to_cpu = now.to_host_pinned.count + now.to_host_pageable.count
        copied = (
            "copied cpu->gpu" if to_gpu > self.to_gpu else "copied gpu->cpu" if to_cpu > self.to_cpu else "not copied"
        )
        data, diff = blob.data.memory, blob.diff.memory
        print(
            f"{step:<18} {blob.shape_string():<15} data {data.head.name:<13} diff {diff.head.name:<13} "
            f"capacity {data.nbytes:>4}   {copied}"
        )
        self.to_gpu, self.to_cpu = to_gpu, to_cpu


def main() -> None:
    blob = syncedmem.Blob((2, 3, 4, 5))
    blob.data[...] = 1
    total = blob.asum_data()
    walk = Walk()
    walk.show(blob, "mutable_cpu_data")
    print(f"asum_data {total:g}")
    blob.data.gpu_data()
    walk.show(blob, "gpu_data")
    blob.data.cpu_data()
    walk.show(blob, "cpu_data")
    blob.diff.mutable_gpu_data()
    walk.show(blob, "mutable_gpu_diff")
    blob.diff.cpu_data()
    walk.show(blob, "cpu_diff")
    blob.reshape(2, 3)
    walk.show(blob, "Reshape to less")
    blob.reshape(120)
    walk.show(blob, "Reshape back")
    print(f"first {blob.data[0]:g}, last {blob.data[119]:g}")

    other = syncedmem.Blob((10, 12))
    walk.show(other, "another blob")
    other.share_data(blob)
    walk.show(other, "ShareData")
    blob.data[0] = 42
    data = other.data.cpu_data()
    walk.show(other, "cpu_data")
    print(f"first {data[0, 0]:g}")
    other.reshape(240)
    walk.show(other, "Reshape to more")
    walk.show(blob, "the first blob")


if __name__ == "__main__":
    found = syncedmem.cuda_status()
    if not found.available:
        sys.exit(found.sentence)
    try:
        syncedmem.set_accounting(syncedmem.Accounting.ON)
        main()
    except (MemoryError, syncedmem.Error) as error:
        sys.exit(str(error))
