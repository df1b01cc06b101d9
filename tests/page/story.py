"""A program that uses the library as a training would, for a trace of it: on the simulated driver, with a forked child.

Started by `tests/page/run` with the library's path.
"""

import ctypes
import os
import sys

ROUNDS = 60
KIB = 1024
LAYERS = {"data": 620 * KIB, "conv1": 290 * KIB, "fc6": 1100 * KIB, "loss <0.5 & \"smoothed\">": 4 * KIB}


class Library:
    """The C API: every call is checked."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function that gives a status."""
        status = getattr(self._library, f"syncedmem_{name}")(*arguments)
        if status != 0:
            self._library.syncedmem_last_error.restype = ctypes.c_char_p
            sys.exit(f"syncedmem_{name}: {self._library.syncedmem_last_error().decode()}")


class Memory:
    """An object."""

    def __init__(self, library: Library, size: int) -> None:
        self._library = library
        self._handle = ctypes.c_void_p()
        self.size = size
        library.call("create", ctypes.c_size_t(size), ctypes.byref(self._handle))

    def do(self, name: str, *arguments: object) -> None:
        """Calls a function that is about this object."""
        self._library.call(name, self._handle, *arguments)

    def get(self, access: str) -> int:
        """Asks for an address."""
        address = ctypes.c_void_p()
        self.do(access, ctypes.byref(address))
        return address.value or 0

    def fill(self, value: int) -> None:
        """Writes all of it on the host."""
        ctypes.memset(self.get("mutable_cpu_data"), value, self.size)


def train(library: Library) -> list[Memory]:
    """Data goes to the device, the loss comes back, now and then something large is there for a while."""
    layers = {name: Memory(library, size) for name, size in LAYERS.items()}
    for name, memory in layers.items():
        memory.do("set_name", name.encode())
        memory.fill(1)
    stream = ctypes.c_void_p(0)
    for number in range(ROUNDS):
        layers["data"].fill(number)
        if number % 2:
            layers["data"].do("async_gpu_push", stream)
        for memory in layers.values():
            memory.get("gpu_data")
        *_, loss = layers.values()
        loss.get("mutable_gpu_data")
        loss.get("mutable_cpu_data")
        if number % 20 == 10:
            snapshot = Memory(library, 3000 * KIB)
            snapshot.fill(2)
            snapshot.get("gpu_data")
            snapshot.get("mutable_gpu_data")
            snapshot.get("mutable_cpu_data")
            snapshot.do("destroy")
    return list(layers.values())


def main() -> None:
    library = Library(sys.argv[1])
    library.call("set_mode", ctypes.c_int32(2))
    kept = train(library)
    child = os.fork()
    if child == 0:
        for size in [100, 70 * KIB, 5000 * KIB]:
            Memory(library, size).fill(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    for memory in kept[1:]:
        memory.do("destroy")
    sys.exit(os.waitstatus_to_exitcode(status))


main()
