"""Numbers are checked before the library sees them: the error names the function, the argument and what to pass."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Callable

import numpy as np
import pytest

import syncedmem
from syncedmem import Blob, SyncedMemory, Tensor, Workspace

pytestmark = pytest.mark.once


def tensor() -> Tensor:
    made = Tensor((4, 2))
    made.mutable_data("f4")
    return made


# Calls with an integer argument, by the words in the error that name the function and the argument.
INTEGERS: dict[str, Callable[[Any], object]] = {
    "SyncedMemory: nbytes": lambda value: SyncedMemory(value),
    "SyncedMemory.array: a length in shape": lambda value: SyncedMemory(64).array("u1", (2, value)),
    "SyncedMemory.set_items: items": lambda value: SyncedMemory(64).set_items(value),
    "SyncedMemory.stream_wait: stream": lambda value: SyncedMemory(64).stream_wait(value),
    "SyncedArray.__dlpack__: dl_device": lambda value: SyncedMemory(64).array("u1").__dlpack__(dl_device=(1, value)),
    "HostAccess.__dlpack__: max_version": lambda value: SyncedMemory(64).cpu().__dlpack__(max_version=(value, 0)),
    "Blob: a length in shape": lambda value: Blob((2, value)),
    "Blob.reshape: a length in shape": lambda value: Blob().reshape(value),
    "Blob.offset: an index": lambda value: Blob((2, 3)).offset(0, value),
    "Blob.copy_from: reshape": lambda value: Blob(2).copy_from(Blob(2), reshape=value),
    "Tensor: a length in shape": lambda value: Tensor(value),
    "Tensor.resize: a length in shape": lambda value: tensor().resize(value),
    "Tensor.reshape: a length in shape": lambda value: tensor().reshape(2, value),
    "Tensor.shrink: length": lambda value: tensor().shrink(value),
    "Tensor.extend: more": lambda value: tensor().extend(value),
    "Tensor.reserve: a length in shape": lambda value: tensor().reserve((2, value)),
    "Workspace.from_handle: handle": lambda value: Workspace.from_handle(value),
    "Workspace.map: skip": lambda value: Workspace().map(Workspace(), {"a": "b"}, skip=value),
    "set_keep_on_shrink: keep": lambda value: syncedmem.set_keep_on_shrink(value),
    "set_keep_on_shrink: most_unused_bytes": lambda value: syncedmem.set_keep_on_shrink(True, value),
    "set_pool_budget: nbytes": syncedmem.set_pool_budget,
    "get_pool_budget: kind": syncedmem.get_pool_budget,
    "set_pinned_limit: nbytes": syncedmem.set_pinned_limit,
    "set_mode: mode": syncedmem.set_mode,
    "set_pinning: pinning": syncedmem.set_pinning,
    "set_error_policy: policy": syncedmem.set_error_policy,
    "set_accounting: accounting": syncedmem.set_accounting,
    "set_device_check: on": syncedmem.set_device_check,
    "trim: kind": syncedmem.trim,
    "idle_bytes: kind": syncedmem.idle_bytes,
}


@pytest.mark.parametrize("value", [1.7, np.float32(1.7), Decimal(1), "1"], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("what", INTEGERS)
def test_what_is_no_integer_is_refused_by_name(what: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(what)} is .*; pass "):
        INTEGERS[what](value)


@pytest.mark.parametrize("value", [-(1 << 70), 1 << 70], ids=["too small", "too large"])
@pytest.mark.parametrize("what", [what for what in INTEGERS if not re.search("nbytes$|dl_device|max_version", what)])
def test_a_number_that_no_c_integer_holds_is_refused_by_name(what: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(what)} is {value}; pass "):
        INTEGERS[what](value)


def test_integers_of_every_kind_are_taken() -> None:
    integers: list[Any] = [1, True, np.int8(1), np.uint64(1), np.bool_(True), np.array(1)]
    for one in integers:
        cut, blob = tensor(), Blob(one)
        cut.shrink(one)
        assert cut.shape == (1, 2) and blob.shape == (1,) and SyncedMemory(one).nbytes == 1
    before = syncedmem.get_device_check()
    syncedmem.set_device_check(np.bool_(before))  # type: ignore[arg-type]
    assert syncedmem.get_device_check() is before


def test_a_value_of_an_enumeration_is_named_in_the_refusal() -> None:
    with pytest.raises(ValueError, match="^trim: kind is 9; pass one of Memory.PAGEABLE, Memory.PINNED, Memory.DEVICE, Memory.ALL$"):
        syncedmem.trim(9)  # type: ignore[arg-type]
