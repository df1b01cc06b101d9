"""Times accesses to host memory that need no copy, beside PyTorch's in the same process.

Started by `scripts/bench --python`. A sample is shorter than a turn on a busy processor, and there are many of them, of
all rows in turn: the least is what the call takes when nothing else runs.
"""

import statistics
import sys
import timeit
from typing import Any, Callable, Dict, List

import numpy as np
import torch

import syncedmem

SAMPLES, CALLS = 400, 200


def rows() -> Dict[str, Callable[[], Any]]:
    shape = (16, 64)
    tensor = torch.zeros(shape)
    view = syncedmem.SyncedMemory(4096).array(np.float32, shape)
    view.mutable_cpu_data()[...] = 0
    return {
        "PyTorch: tensor.numpy()": tensor.numpy,
        "PyTorch: np.from_dlpack(tensor)": lambda: np.from_dlpack(tensor),
        "view.cpu_data()": view.cpu_data,
        "view.mutable_cpu_data()": view.mutable_cpu_data,
        "np.from_dlpack(view)": lambda: np.from_dlpack(view),
        "np.asarray(view)": lambda: np.asarray(view),
        "torch.from_dlpack(view.mutable_cpu())": lambda: torch.from_dlpack(view.mutable_cpu()),
    }


def main() -> None:
    calls = rows()
    samples: Dict[str, List[float]] = {name: [] for name in calls}
    for _ in range(SAMPLES):
        for name, call in calls.items():
            samples[name].append(timeit.timeit(call, number=CALLS) / CALLS * 1e6)
    print(f"CPython {sys.version.split()[0]}, NumPy {np.__version__}, PyTorch {torch.__version__}, syncedmem {syncedmem.version()}")
    print(f"microseconds for a call on an array of 4 KiB: median, least of {SAMPLES} samples")
    for name, times in samples.items():
        print(f"{name:<40}{statistics.median(times):8.2f}{min(times):8.2f}")


if __name__ == "__main__":
    main()
