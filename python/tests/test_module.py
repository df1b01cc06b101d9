"""The module's functions about memory and the library, and its settings."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path
from typing import Any, Callable

import pytest

import syncedmem
from conftest import Program, ended_well
from syncedmem import Accounting, ErrorPolicy, Memory, Mode, Pinning, SyncedMemory

ROOM = 1 << 20


def test_stats_count_what_happens(accounting: None) -> None:
    before = syncedmem.stats()
    mem = SyncedMemory(ROOM)
    mem.cpu_data()
    after = syncedmem.stats()
    assert after.objects_made == before.objects_made + 1
    assert after.host_reads == before.host_reads + 1
    assert after.host_fills.bytes == before.host_fills.bytes + ROOM
    assert after.pageable.live + after.pinned.live == before.pageable.live + before.pinned.live + ROOM
    mem.close()
    assert syncedmem.stats().objects_ended == before.objects_ended + 1
    report = syncedmem.report()
    assert "memory: " in report and "fill of the host with zeros" in report
    high = after.pageable.peak + after.pinned.peak
    syncedmem.reset_peaks()
    assert syncedmem.stats().pageable.peak + syncedmem.stats().pinned.peak <= high - ROOM
    assert syncedmem.device_mismatches() == syncedmem.blobs_computed_on_host() == 0


def test_idle_memory_is_told_and_given_back() -> None:
    syncedmem.trim()
    with SyncedMemory(8 * ROOM) as mem:
        mem.mutable_cpu_data()
    assert syncedmem.idle_bytes(Memory.PAGEABLE) == syncedmem.idle_bytes() == 8 * ROOM
    syncedmem.trim(Memory.DEVICE)
    assert syncedmem.idle_bytes() == 8 * ROOM
    syncedmem.trim(Memory.PAGEABLE)
    assert syncedmem.idle_bytes(Memory.ALL) == 0


POLICIES: list[tuple[Callable[[Any], None], Callable[[], Any], list[Any]]] = [
    (syncedmem.set_pool_age, syncedmem.get_pool_age, [0.0, 2.5, 100]),
    (syncedmem.set_pinned_limit, syncedmem.get_pinned_limit, [0, 1 << 40]),
    (syncedmem.set_mode, syncedmem.get_mode, list(Mode)),
    (syncedmem.set_pinning, syncedmem.get_pinning, list(Pinning)),
    (syncedmem.set_error_policy, syncedmem.get_error_policy, list(ErrorPolicy)),
    (syncedmem.set_accounting, syncedmem.get_accounting, list(Accounting)),
    (syncedmem.set_device_check, syncedmem.get_device_check, [False, True]),
]


@pytest.mark.parametrize("put, get, values", POLICIES, ids=[each[1].__name__ for each in POLICIES])
def test_a_policy_that_was_set_is_in_force(put: Any, get: Any, values: list[Any]) -> None:
    before = get()
    try:
        for value in values:
            put(value)
            assert get() == value and type(get()) is type(before)
    finally:
        put(before)


def test_a_recording_is_shown_as_the_commands_report(tmp_path: Path) -> None:
    file = tmp_path / "-a trace"
    with syncedmem.trace(file):
        SyncedMemory(ROOM, name="<traced>").mutable_cpu_data()
    report = syncedmem.Report(file)
    assert "<traced>" in str(report) and str(report).startswith("libsyncedmem: memory of ")
    assert report._repr_html_().startswith("<pre>libsyncedmem") and "&lt;traced&gt;" in report._repr_html_()
    assert report.data["processes"][0]["holders"][0]["name"] == "<traced>" and repr(report).endswith("1 processes>")
    with pytest.raises(ValueError, match="/none: .*No such file"):
        syncedmem.Report(tmp_path / "none")


def test_a_trace_ends_with_its_block(tmp_path: Path) -> None:
    file = tmp_path / "trace"
    with pytest.raises(KeyError):
        with syncedmem.trace(os.fspath(file)):
            SyncedMemory(ROOM).mutable_cpu_data()
            raise KeyError
    recorded = file.read_bytes()
    SyncedMemory(ROOM).mutable_cpu_data()
    assert file.read_bytes() == recorded != b""


def test_a_trace_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(syncedmem.Error, match="folder"), syncedmem.trace(tmp_path):
        pass
    with pytest.raises(ValueError):
        syncedmem.trace_start("a\0b")
    with pytest.raises(TypeError):
        syncedmem.trace_start(12)  # type: ignore[arg-type]


def test_everything_that_is_public_is_there_and_documented() -> None:
    for name in syncedmem.__all__:
        thing = getattr(syncedmem, name)
        if callable(thing) and name not in ("ffi", "lib"):
            assert thing.__doc__, f"{name} says nothing of itself"
    kinds = (SyncedMemory, syncedmem.SyncedArray, syncedmem.DeviceArray, syncedmem.Access, syncedmem.Blob, syncedmem.BlobArray)
    for kind in kinds:
        for name, member in vars(kind).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                assert member.__doc__, f"{kind.__name__}.{name} says nothing of itself"


@pytest.mark.once
def test_what_the_packages_readme_shows_is_what_happens(program: Program) -> None:
    readme = Path(__file__).parents[1] / "README.md"
    (example,) = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    shown = re.findall(r"print\(.*\)  # (.*)", example)
    assert shown
    ended_well(program(example), "".join(f"{line}\n" for line in shown))
