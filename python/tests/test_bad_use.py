"""Bad use raises an exception, or does what the C API's documentation says; it never crashes."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import syncedmem
from syncedmem import Status, SyncedMemory, lib

pytestmark = pytest.mark.once


def test_a_handle_that_was_destroyed_behind_pythons_back_is_an_exception() -> None:
    # The C API detects it until the object's bytes are reused.
    mem = SyncedMemory(4096)
    assert lib.syncedmem_destroy(mem.handle) == Status.SUCCESS
    with pytest.raises(syncedmem.Error) as caught:
        mem.cpu_data()
    assert caught.value.status is Status.INVALID_HANDLE
    with pytest.raises((syncedmem.Error, ValueError)):
        mem.close()
        mem.cpu_data()


def test_a_memory_that_failed_to_be_made_ends_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    for size in (-1, "x", None, 2**70):
        with pytest.raises((TypeError, ValueError, MemoryError)):
            SyncedMemory(size)  # type: ignore[arg-type]
    gc.collect()
    assert not reported


def test_a_callback_into_python_uses_the_object_that_the_call_is_on() -> None:
    # set_cpu_data calls the deleter of the borrowed memory.
    from dlpack import Producer

    mem = SyncedMemory(96)
    seen: list[Any] = []

    class Uses(Producer):
        @property
        def deleted(self) -> int:
            return 0

        @deleted.setter
        def deleted(self, value: int) -> None:
            if value:
                try:
                    seen.append((mem.nbytes, mem.exports))
                    seen.append(mem.cpu_data().tobytes())
                except Exception as error:
                    seen.append(error)

    mem.set_cpu_data(Uses(b"a" * 96))
    mem.set_cpu_data(bytearray(b"b" * 96))
    assert len(seen) >= 1 and mem.cpu_data().tobytes() == b"b" * 96
