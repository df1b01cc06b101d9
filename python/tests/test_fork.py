"""A forked child does not wait for its parent's locks. tests/process tests the objects in a child."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from syncedmem import SyncedMemory

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_the_child_waits_for_no_thread_of_its_parents() -> None:
    mem = SyncedMemory(64)
    holds, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with mem._handle.alone:
            holds.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    holds.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(300)  # SIGALRM ends a child that hangs
        status = 1
        try:
            status = int(mem.exports != (0, 0))
        finally:
            os._exit(status)
    ended = os.waitpid(child, 0)[1]
    may_end.set()
    thread.join()
    assert ended == 0
