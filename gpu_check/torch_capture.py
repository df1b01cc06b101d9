"""Captures CUDA graphs with PyTorch while the library allocates, frees, trims and copies in the same process.

Each operation of the library runs once inside a capture of its own, on the capturing thread and on another, in each of the
three modes. Judged: whether the library does it, or refuses a copy with a sentence that names the capture; whether the
capture is whole; whether its replay and the library's copies give the right values. Exit status 77: there is no PyTorch with
a GPU.
"""

import argparse
import ctypes
import importlib
import json
import sys
import threading

SIZE = 3 << 20
OPERATIONS = (
    "allocates a device block",
    "allocates a pinned block",
    "frees a device block",
    "frees a pinned block",
    "trims all pools",
    "copies to the device",
    "copies to the host",
)
PIN_ALWAYS, ALL_MEMORY = 1, 3
MODES = ("global", "thread_local", "relaxed")


class Skip(Exception):
    """Why nothing can be captured here."""


def usable_torch():
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise Skip(f"PyTorch cannot be imported: {error}") from error
    try:
        if ctypes.CDLL("libcuda.so.1").simcuda_is_simulated():
            raise Skip("PyTorch's CUDA runtime needs a real driver")
    except OSError as error:
        raise Skip(f"no CUDA driver: {error}") from error
    except AttributeError:
        pass  # a real one
    if not torch.cuda.is_available():
        raise Skip("this PyTorch finds no GPU")
    return torch


class Library:
    """libsyncedmem, through its C API."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.syncedmem_last_error.restype = ctypes.c_char_p
        self.must(self.c.syncedmem_set_pinning(PIN_ALWAYS))

    def must(self, status):
        if status != 0:
            raise RuntimeError(self.c.syncedmem_last_error().decode())

    def make(self):
        handle = ctypes.c_void_p()
        self.must(self.c.syncedmem_create(ctypes.c_size_t(SIZE), ctypes.byref(handle)))
        return handle

    def access(self, function, handle):
        """The address that an accessor gives."""
        data = ctypes.c_void_p()
        self.must(getattr(self.c, f"syncedmem_{function}")(handle, ctypes.byref(data)))
        return data.value


class Objects:
    """One object for each operation, in the state that it needs."""

    def __init__(self, library, value):
        self.library, self.value = library, value
        self.fresh, self.pinned, self.freed, self.freed_pinned = (library.make() for _ in range(4))
        self.to_device, self.to_host = library.make(), library.make()
        library.access("overwrite_gpu_data", self.freed)
        library.access("overwrite_cpu_data", self.freed_pinned)
        for handle in (self.to_device, self.to_host):
            library.access("overwrite_gpu_data", handle)
            ctypes.memset(library.access("mutable_cpu_data", handle), value, SIZE)
        self.leave_on_device(self.to_host)
        library.must(library.c.syncedmem_trim(ALL_MEMORY))

    def leave_on_device(self, handle):
        """Moves the data to the device, and writes over what the host has: only a copy can bring it back."""
        host = self.library.access("cpu_data", handle)
        self.library.access("mutable_gpu_data", handle)
        ctypes.memset(host, self.value ^ 0xFF, SIZE)

    def perform(self, operation):
        """Lets the library do one of OPERATIONS."""
        library = self.library
        {
            "allocates a device block": lambda: library.access("overwrite_gpu_data", self.fresh),
            "allocates a pinned block": lambda: library.access("overwrite_cpu_data", self.pinned),
            "frees a device block": lambda: library.must(library.c.syncedmem_destroy(self.freed)),
            "frees a pinned block": lambda: library.must(library.c.syncedmem_destroy(self.freed_pinned)),
            "trims all pools": lambda: library.must(library.c.syncedmem_trim(ALL_MEMORY)),
            "copies to the device": lambda: library.access("gpu_data", self.to_device),
            "copies to the host": lambda: library.access("cpu_data", self.to_host),
        }[operation]()

    def wrong(self):
        """The error in the copies' bytes; copies that were refused before are made now."""
        expected = bytes([self.value]) * SIZE
        self.library.access("gpu_data", self.to_device)
        self.leave_on_device(self.to_device)
        for name in ("to_device", "to_host"):
            address = self.library.access("cpu_data", getattr(self, name))
            if ctypes.string_at(address, SIZE) != expected:
                return f"the bytes of the object that is copied {name} are wrong"
        return None

    def end(self, operation):
        gone = {"frees a device block": self.freed, "frees a pinned block": self.freed_pinned}.get(operation)
        for handle in (self.fresh, self.pinned, self.freed, self.freed_pinned, self.to_device, self.to_host):
            if handle is not gone:
                self.library.c.syncedmem_destroy(handle)


def answer_of(work, on_another_thread):
    """The error of the library's call, or None."""
    answers = []

    def call():
        try:
            work()
            answers.append(None)
        except RuntimeError as error:
            answers.append(str(error))

    if on_another_thread:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    else:
        call()
    return answers[0]


def capture(torch, mode, work, on_another_thread):
    """The library's error, and what is wrong with the capture or its replay; None for nothing."""
    stream, graph, error = torch.cuda.Stream(), torch.cuda.CUDAGraph(), None
    source = torch.arange(1 << 16, device="cuda", dtype=torch.float32)
    doubled, summed = torch.zeros_like(source), torch.zeros_like(source)
    torch.cuda.synchronize()
    try:
        with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
            torch.mul(source, 2, out=doubled)
            error = answer_of(work, on_another_thread)
            torch.add(doubled, 1, out=summed)
        source += 5
        graph.replay()
        torch.cuda.synchronize()
        wrong = None if torch.equal(summed, source * 2 + 1) else "the replay gives other values"
    except RuntimeError as broken:
        wrong = f"the capture broke: {str(broken).splitlines()[0]}"
    return error, wrong


def verdict(name, error, wrong):
    """Why a case is not right, or None."""
    if error is not None and not may_be_refused:
        return f"it was refused: {error}"
    if error is not None and "captur" not in error:
        return f"the error does not name the capture: {error}"
    # The driver ends a capture before it says why it refuses a copy.
    return wrong if error is None else None


def run(arguments):
    torch = usable_torch()
    library = Library(arguments.library)
    passed = failed = 0
    print(f"\n### torch.cuda.graph beside the library, PyTorch {torch.__version__}\n")
    print("| mode | thread | the library | answer | capture and replay |\n|---|---|---|---|---|")
    for name in OPERATIONS:
        for mode in MODES:
            for on_another_thread in (False, True):
                objects = Objects(library, 1 + (passed + failed) % 250)
                error, wrong = capture(torch, mode, lambda: objects.perform(name), on_another_thread)
                bytes_wrong = objects.wrong()
                objects.end(name)
                thread = "another" if on_another_thread else "the same"
                print(f"| {mode} | {thread} | {name} | {error or 'done'} | {wrong or 'right'} |", flush=True)
                why = verdict(name, error, wrong) or bytes_wrong
                passed, failed = passed + (why is None), failed + (why is not None)
                if why is not None:
                    print(f"not ok: {mode} capture by PyTorch, {thread} thread, the library {name}: {why}", flush=True)
                if arguments.json:
                    row = {"section": "torch_capture", "mode": mode, "thread": thread, "operation": name, "error": error, "wrong": why}
                    with open(arguments.json, "a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
    print(f"\ntorch_capture: {passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default="libsyncedmem.so", help="the library to try")
    parser.add_argument("--json", help="append every case to this file, a JSON object per line")
    try:
        return run(parser.parse_args())
    except Skip as reason:
        print(f"\nskipped: torch.cuda.graph: {reason}\n\ntorch_capture: 0 passed, 0 failed, 1 skipped")
        return 77


if __name__ == "__main__":
    sys.exit(main())
