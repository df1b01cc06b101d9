"""Ctrl-C during calls raises an exception; no lock stays held, and no tensor leaks."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any, Callable

import pytest

import syncedmem
from cuda_driver import Driver
from syncedmem import SyncedMemory

USES: list[tuple[str, Callable[[SyncedMemory], Any]]] = [
    ("an array", lambda mem: mem.cpu_data()),
    ("a with block", lambda mem: mem.mutable_cpu().__enter__()),
    ("a capsule", lambda mem: mem.cpu().__dlpack__(max_version=(1, 0))),
    ("a copy", lambda mem: mem.array("f4").__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=True)),
    ("an interface", lambda mem: mem.array("f4").__array_interface__),
    ("a wait", lambda mem: mem.wait()),
]


@pytest.mark.parametrize("use", [use for _, use in USES], ids=[name for name, _ in USES])
def test_ctrl_c_during_a_copy_leaves_nothing_in_use(simulated: Driver, use: Callable[[SyncedMemory], Any]) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    syncedmem.set_pinning(syncedmem.Pinning.ALWAYS)
    mem = SyncedMemory(65536)
    simulated.write(mem.mutable_gpu_data().ptr, b"\4" * 65536)
    with simulated.stream() as stream:
        simulated.library.simcuda_hold_streams()

        def interrupts() -> None:
            # The main thread is in the call, or will enter it with the signal pending: both raise KeyboardInterrupt.
            os.kill(os.getpid(), signal.SIGINT)
            simulated.library.simcuda_release_streams()

        try:
            mem.async_cpu_pull(stream)
            later = threading.Timer(0.05, interrupts)
            with pytest.raises(KeyboardInterrupt):
                later.start()
                use(mem)
                later.join()
            later.join()
        finally:
            syncedmem.set_pinning(syncedmem.Pinning.AUTO)
            signal.signal(signal.SIGINT, before)
    assert mem.exports == (0, 0)
    assert (mem.cpu_data() == 4).all(), "nothing is lost, and no lock is held"
    mem.close()


def borrowed(mem: SyncedMemory) -> None:
    mem.set_cpu_data(bytearray(65536))


SWEPT = [*USES[:5], ("a borrowed memory", borrowed)]


@pytest.mark.parametrize("use", [use for _, use in SWEPT], ids=[name for name, _ in SWEPT])
def test_an_exception_after_any_call_leaves_nothing_in_use(use: Callable[[SyncedMemory], Any]) -> None:
    done = False
    after = 0
    while not done:
        mem, left, after = SyncedMemory(65536), after, after + 1

        def interrupts(frame: Any, event: str, argument: Any) -> None:
            # Python checks for signals when a C call returns and when a function begins.
            nonlocal left
            if event in ("c_return", "call"):
                left -= 1
                if left < 0:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        sys.setprofile(interrupts)
        try:
            use(mem)
            done = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        assert mem.exports == (0, 0), f"after {after} calls"
        mem.close()
    assert after > 5
