"""The CUDA driver that the tests run on: the simulated one with its controls, the system's, or none."""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from typing import Any, Iterator, Optional


class Driver:
    """Entry points that tests call themselves, and the simulated driver's controls."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library: Any = library
        self.simulated = hasattr(library, "simcuda_is_simulated")
        if self.simulated:
            library.simcuda_copies.restype = ctypes.c_size_t
            library.simcuda_copies.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
            library.simcuda_calls.restype = ctypes.c_size_t
            library.simcuda_violations.restype = ctypes.c_size_t
            library.simcuda_violations.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
            library.simcuda_log.restype = ctypes.c_size_t
            library.simcuda_log.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
            library.simcuda_read.argtypes = [ctypes.c_ulonglong, ctypes.c_void_p, ctypes.c_size_t]
            library.simcuda_write.argtypes = [ctypes.c_ulonglong, ctypes.c_char_p, ctypes.c_size_t]
            library.simcuda_set_memory.argtypes = [ctypes.c_int, ctypes.c_size_t]

    def call(self, name: str, *arguments: Any) -> None:
        """Calls an entry point; it must succeed."""
        status = getattr(self.library, name)(*arguments)
        assert status == 0, f"{name} returned {status}"

    @contextmanager
    def current(self, ordinal: int = 0) -> Iterator[None]:
        """Makes a device's primary context current in a `with` block."""
        self.call("cuInit", 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal)
        self.call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(context))
            self.call("cuDevicePrimaryCtxRelease_v2", ordinal)

    @contextmanager
    def stream(self, ordinal: int = 0) -> Iterator[int]:
        """A non-blocking stream."""
        with self.current(ordinal):
            stream = ctypes.c_void_p()
            self.call("cuStreamCreate", ctypes.byref(stream), 1)
            try:
                assert stream.value
                yield stream.value
            finally:
                self.call("cuStreamDestroy_v2", stream)

    # The simulated driver's controls.

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds all queued work of streams in a `with` block."""
        self.library.simcuda_hold_streams()
        try:
            yield
        finally:
            self.library.simcuda_release_streams()

    def forget(self) -> None:
        """Resets the counts."""
        self.library.simcuda_clear_log()

    def copies(self, kind: Optional[str] = None) -> int:
        """The copies since the reset: "HtoD", "DtoH", or all."""
        return int(self.library.simcuda_copies(kind.encode() if kind else None, ctypes.c_size_t(-1).value))

    def calls(self, function: Optional[str] = None) -> int:
        return int(self.library.simcuda_calls(function.encode() if function else None))

    def log(self) -> str:
        length = self.library.simcuda_log(None, 0)
        text = ctypes.create_string_buffer(length + 1)
        self.library.simcuda_log(text, length + 1)
        return text.value.decode()

    def violations(self) -> str:
        """The broken rules, one sentence on each line."""
        length = self.library.simcuda_violations(None, 0)
        text = ctypes.create_string_buffer(65536)
        self.library.simcuda_violations(text, len(text))
        return text.value.decode() if length else ""

    def read(self, address: int, count: int) -> bytes:
        """The bytes of device memory, read without a driver call."""
        content = ctypes.create_string_buffer(count)
        assert self.library.simcuda_read(address, content, count) == 0, "that is no device memory"
        return content.raw

    def write(self, address: int, content: bytes) -> None:
        assert self.library.simcuda_write(address, content, len(content)) == 0, "that is no device memory"


def find() -> Optional[Driver]:
    """The driver that the library will find, or None. It must be the one that SYNCEDMEM_TEST_DRIVER names."""
    wanted = os.environ.get("SYNCEDMEM_TEST_DRIVER", "")
    if wanted == "none":
        # A driver without devices counts as none.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        return None
    try:
        driver = Driver(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        assert wanted == "", f"SYNCEDMEM_TEST_DRIVER={wanted}, and there is no libcuda.so.1"
        return None
    kind = "simulated" if driver.simulated else "real"
    assert wanted in ("", kind), f"SYNCEDMEM_TEST_DRIVER={wanted}, and libcuda.so.1 is a {kind} one"
    return driver
