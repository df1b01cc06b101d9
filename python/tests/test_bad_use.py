"""Bad use: each is an exception, or what the C API's documentation says of it; never a crash."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import syncedmem
from conftest import Program, ended_well
from syncedmem import Status, SyncedMemory, lib

pytestmark = pytest.mark.once


def test_a_handle_that_was_destroyed_behind_pythons_back_is_an_exception() -> None:
    # The C API: detected until the object's bytes are reused.
    mem = SyncedMemory(4096)
    assert lib.syncedmem_destroy(mem.handle) == Status.SUCCESS
    with pytest.raises(syncedmem.Error) as caught:
        mem.cpu_data()
    assert caught.value.status is Status.INVALID_HANDLE
    with pytest.raises((syncedmem.Error, ValueError)):
        mem.close()
        mem.cpu_data()


@pytest.mark.parametrize("kind", [syncedmem.SyncedMemory, syncedmem.SyncedArray, syncedmem.DeviceArray, syncedmem.HostAccess])
def test_an_object_that_was_never_initialised_is_an_exception(kind: Any) -> None:
    unmade = kind.__new__(kind)
    for name in sorted(set(dir(kind)) - set(dir(object))):
        if name.startswith("__") and name not in ("__dlpack__", "__enter__", "__array_interface__", "__cuda_array_interface__"):
            continue
        try:
            member = getattr(unmade, name)
            if callable(member):
                member()
        except (AttributeError, TypeError, ValueError, NotImplementedError):
            pass
    with pytest.raises(AttributeError):
        repr(unmade)


def test_a_memory_that_failed_to_be_made_ends_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    for size in (-1, "x", None, 2**70):
        with pytest.raises((TypeError, ValueError, MemoryError)):
            SyncedMemory(size)  # type: ignore[arg-type]
    gc.collect()
    assert not told


def test_a_callback_into_python_uses_the_object_that_the_call_is_on() -> None:
    # The deleter of what was lent is called inside set_cpu_data.
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


@pytest.mark.once
def test_random_arguments_never_crash(program: Program) -> None:
    done = program(
        """
import random, warnings
import numpy as np
import syncedmem
from syncedmem import SyncedMemory
warnings.simplefilter("ignore")
rng = random.Random(6)
odd = [None, 0, 1, -1, 2**31, 2**63, 2**64, -2**63, 1.5, float("nan"), "", "f4", b"x", (), (1,), (1, 0), (2, 0), [], [3], {},
       object(), np.zeros(4), np.float32, int, lambda: None, True, Ellipsis, bytearray(16), memoryview(b"ab"), np.int64(4),
       (1, 2, 3), "\\0", "\\ud800"]
dlpack = ("stream", "max_version", "dl_device", "copy")
made = 0
for turn in range(3000):
    mem = SyncedMemory(rng.choice([0, 1, 16, 4096]))
    things = [mem]
    try:
        things.append(mem.array(rng.choice(["u1", "f4"]), rng.choice([None, 0, (1,)])))
    except ValueError:
        pass
    thing = rng.choice(things)
    if rng.random() < .3:
        thing = getattr(thing, rng.choice(["cpu", "mutable_cpu", "overwrite_cpu", "gpu"]))()
    names = [n for n in dir(thing) if n not in dir(object) and n not in ("__weakref__", "__init__", "__class_getitem__")]
    name = rng.choice(names)
    try:
        member = getattr(thing, name)
        if callable(member):
            arguments = [rng.choice(odd) for _ in range(rng.randrange(3))]
            keywords = {k: rng.choice(odd) for k in dlpack if name == "__dlpack__" and rng.random() < .3}
            member(*arguments, **keywords)
        elif rng.random() < .5:
            setattr(thing, name, rng.choice(odd))
        made += 1
    except (TypeError, ValueError, AttributeError, BufferError, MemoryError, OverflowError, LookupError, RuntimeError):
        pass
for turn in range(500):
    for use in (syncedmem.from_dlpack, SyncedMemory):
        try:
            use(rng.choice(odd), **({"copy": rng.choice(odd)} if use is syncedmem.from_dlpack else {}))
        except (TypeError, ValueError, BufferError, MemoryError, OverflowError):
            pass
assert made > 100, made
"""
    )
    ended_well(done)
