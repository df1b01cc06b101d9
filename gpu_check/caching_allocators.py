"""Measures blocks acquired and released beside the caching allocators of PyTorch and CuPy, where they are installed.

All of them are called from Python, in turn, in one process. Prints Markdown, and appends its rows to device-bench's JSON.
The last line counts rows that were measured and allocators that were not. Exit status 77: there is no driver.
"""

import argparse
import ctypes
import importlib
import importlib.util
import json
import statistics
import sys
import time

KIB, MIB = 1 << 10, 1 << 20
SIZES = [4 * KIB, MIB, 16 * MIB, 256 * MIB]
SYNCHRONISED, STREAM, PIN_ALWAYS = 0, 1, 1


class Unusable(Exception):
    """Why an allocator is not measured."""


class Driver:
    """cuMemAlloc and cuMemHostAlloc, in the primary context of device 0, which it makes current."""

    name = "driver"

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Unusable(f"no CUDA driver: {error}") from error
        self.simulated = hasattr(self.cuda, "simcuda_is_simulated")
        context = ctypes.c_void_p()
        status = self.cuda.cuInit(0)
        if status != 0:
            raise Unusable(f"no GPU: cuInit returned {status}")
        self.must(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        self.must(self.cuda.cuCtxSetCurrent(context))
        self.address = ctypes.c_void_p()

    @staticmethod
    def must(status):
        if status != 0:
            raise Unusable(f"the driver returned {status}")

    def device(self, size):
        self.must(self.cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(size)))
        self.must(self.cuda.cuMemFree_v2(self.address))

    def pinned(self, size):
        self.must(self.cuda.cuMemHostAlloc(ctypes.byref(self.address), ctypes.c_size_t(size), 1))
        self.must(self.cuda.cuMemFreeHost(self.address))


class Library:
    """libsyncedmem, through its C API."""

    def __init__(self, path, reuse, name):
        self.name, self.reuse = name, reuse
        self.library = ctypes.CDLL(path)
        self.library.syncedmem_last_error.restype = ctypes.c_char_p
        self.handle, self.data = ctypes.c_void_p(), ctypes.c_void_p()
        self.must(self.library.syncedmem_set_pinning(PIN_ALWAYS))

    def must(self, status):
        if status != 0:
            raise Unusable(self.library.syncedmem_last_error().decode())

    def begin(self):
        self.must(self.library.syncedmem_set_reuse(self.reuse))

    def acquire(self, size, overwrite):
        self.must(self.library.syncedmem_create(ctypes.c_size_t(size), ctypes.byref(self.handle)))
        self.must(overwrite(self.handle, ctypes.byref(self.data)))
        self.must(self.library.syncedmem_destroy(self.handle))

    def device(self, size):
        self.acquire(size, self.library.syncedmem_overwrite_gpu_data)

    def pinned(self, size):
        self.acquire(size, self.library.syncedmem_overwrite_cpu_data)


class PyTorch:
    """PyTorch's caching allocators: device blocks without a tensor, page-locked ones as tensors."""

    def __init__(self):
        self.torch = importlib.import_module("torch")
        self.name = f"PyTorch {self.torch.__version__}"
        self.torch.cuda.init()

    def device(self, size):
        self.torch.cuda.caching_allocator_delete(self.torch.cuda.caching_allocator_alloc(size))

    def pinned(self, size):
        self.torch.empty(size, dtype=self.torch.uint8, pin_memory=True)


class CuPy:
    """CuPy's memory pools."""

    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        self.name = f"CuPy {self.cupy.__version__}"
        self.pool = self.cupy.get_default_memory_pool()
        self.pinned_pool = self.cupy.get_default_pinned_memory_pool()
        self.pool.malloc(KIB)

    def device(self, size):
        self.pool.malloc(size)

    def pinned(self, size):
        self.pinned_pool.malloc(size)


def sample(contestant, kind, size, calls):
    """Nanoseconds for one call of a few in a row."""
    if hasattr(contestant, "begin"):
        contestant.begin()
    work = getattr(contestant, kind)
    start = time.perf_counter_ns()
    for _ in range(calls):
        work(size)
    return (time.perf_counter_ns() - start) / calls


def measure(contestants, kind, size, seconds):
    """Measures the contestants in turn, there and back, for about so many seconds; drops the first round."""
    samples = {contestant.name: [] for contestant in contestants}
    start, rounds = time.monotonic(), 0
    while rounds < 4 or (time.monotonic() - start < seconds and rounds < 1000):
        for contestant in contestants + contestants[::-1]:
            calls = 1 if contestant.name == "driver" and size >= MIB else 16
            taken = sample(contestant, kind, size, calls)
            if rounds:
                samples[contestant.name].append(taken)
        rounds += 1
    return samples


def spread(samples):
    ordered = sorted(samples)
    tenth = (len(ordered) - 1) // 10
    return {"median": statistics.median(ordered), "p10": ordered[tenth], "p90": ordered[-1 - tenth]}


def readable_time(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def readable_size(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def table(contestants, kind, sizes, seconds):
    print(f"\n### {'Device' if kind == 'device' else 'Page-locked'} blocks, called from Python\n")
    print(f"| | {contestants[0].name} | " + " ".join(f"{rival.name} | ratio |" for rival in contestants[1:]))
    print("|---" * (2 * len(contestants)) + "|")
    rows = []
    for size in sizes:
        times = {name: spread(samples) for name, samples in measure(contestants, kind, size, seconds).items()}
        ours = times[contestants[0].name]["median"]
        cells = []
        for number, time_ in enumerate(times.values()):
            text = f"{readable_time(time_['median'])} [{readable_time(time_['p10'])} - {readable_time(time_['p90'])}]"
            cells.append(text if number == 0 else f"{text} | {ours / time_['median']:.3f}")
        print(f"| {readable_size(size)} | " + " | ".join(cells) + " |", flush=True)
        rows.append({"section": "caching_allocators", "id": f"python.{kind}.{size}", "nanoseconds": times})
    return rows


def rivals(simulated):
    """The allocators that can be measured, and the number of the others; prints why these cannot."""
    usable, skipped = [], 0
    for name, package, allocator in (("PyTorch", "torch", PyTorch), ("CuPy", "cupy", CuPy)):
        why = None
        if importlib.util.find_spec(package) is None:
            why = "not installed"
        elif simulated:
            why = "its CUDA runtime needs a real driver"
        else:
            try:
                usable.append(allocator())
            except Exception as error:  # any exception of a foreign package is the reason
                why = f"installed, and cannot be used: {str(error).splitlines()[0] if str(error) else repr(error)}"
        if why is not None:
            print(f"skipped: {name}'s caching allocators: {why}")
            skipped += 1
    return usable, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default="libsyncedmem.so", help="the library to measure")
    parser.add_argument("--largest", type=int, default=256, help="the largest size in MiB")
    parser.add_argument("--seconds", type=float, default=0.5, help="about how long a row takes")
    parser.add_argument("--json", help="append every row to this file, a JSON object per line")
    arguments = parser.parse_args()

    print("\n### Caching allocators of others\n")
    driver = Driver()
    stream = Library(arguments.library, STREAM, "library, reuse: stream")
    contestants = [stream, Library(arguments.library, SYNCHRONISED, "library, reuse: synchronised"), driver]
    others, skipped = rivals(driver.simulated)
    contestants += others
    print("\nEvery call goes through Python, which takes a microsecond or more of it. PyTorch and CuPy hand a block")
    print("out again at once, to the stream that had it; the library comes closest to that with reuse by stream.")
    sizes = [size for size in SIZES if size <= arguments.largest * MIB]
    rows = []
    for kind in ("device", "pinned"):
        rows += table(contestants, kind, sizes, arguments.seconds)
    if arguments.json:
        with open(arguments.json, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    print(f"\ncaching_allocators: {len(rows)} passed, 0 failed, {skipped} skipped")


if __name__ == "__main__":
    try:
        main()
    except Unusable as reason:
        no_driver = str(reason).startswith("no ")
        print(f"\n{'skipped' if no_driver else 'not ok'}: caching allocators: {reason}")
        print(f"caching_allocators: 0 passed, {int(not no_driver)} failed, {int(no_driver)} skipped")
        sys.exit(77 if no_driver else 1)
