"""Settings of the whole process. Each overrides its environment variable."""

from __future__ import annotations

from typing import Any

from ._arguments import flag, member, size
from ._errors import check
from ._library import ffi, lib
from ._types import Accounting, ErrorPolicy, Memory, Mode, Pinning


def _get(function: Any, c_type: str, *arguments: Any) -> Any:
    answer = ffi.new(c_type)
    check(function(*arguments, answer))
    return answer[0]


def set_pool_budget(nbytes: int) -> None:
    """Sets the maximum of idle bytes for pageable memory, page-locked memory, and each device; 0 keeps none."""
    check(lib.syncedmem_set_pool_budget(size(nbytes, "nbytes")))


def get_pool_budget(kind: Memory) -> int:
    """The maximum of idle bytes of one kind of memory."""
    return int(_get(lib.syncedmem_get_pool_budget, "size_t *", member(Memory, kind, "kind")))


def set_pool_age(seconds: float) -> None:
    """Sets for how many seconds a pageable block may stay idle."""
    check(lib.syncedmem_set_pool_age(seconds))


def get_pool_age() -> float:
    """Seconds for which a pageable block may stay idle."""
    return float(_get(lib.syncedmem_get_pool_age, "double *"))


def set_pinned_limit(nbytes: int) -> None:
    """Sets how many bytes may be page-locked in all. New host blocks beyond that are pageable."""
    check(lib.syncedmem_set_pinned_limit(size(nbytes, "nbytes")))


def get_pinned_limit() -> int:
    """How many bytes may be page-locked in all."""
    return int(_get(lib.syncedmem_get_pinned_limit, "size_t *"))


def set_mode(mode: Mode) -> None:
    """Sets the mode that the library assumes for `Caffe::mode()`."""
    check(lib.syncedmem_set_mode(member(Mode, mode, "mode")))


def get_mode() -> Mode:
    """The mode that the library assumes for `Caffe::mode()`."""
    return Mode(_get(lib.syncedmem_get_mode, "syncedmem_mode_t *"))


def set_pinning(pinning: Pinning) -> None:
    """Sets when host memory is page-locked."""
    check(lib.syncedmem_set_pinning(member(Pinning, pinning, "pinning")))


def get_pinning() -> Pinning:
    """When host memory is page-locked."""
    return Pinning(_get(lib.syncedmem_get_pinning, "syncedmem_pinning_t *"))


def set_error_policy(policy: ErrorPolicy) -> None:
    """Sets what failed C++ functions of a Caffe in this process do. Python always raises exceptions."""
    check(lib.syncedmem_set_error_policy(member(ErrorPolicy, policy, "policy")))


def get_error_policy() -> ErrorPolicy:
    """What failed C++ functions do."""
    return ErrorPolicy(_get(lib.syncedmem_get_error_policy, "syncedmem_error_policy_t *"))


def set_accounting(accounting: Accounting) -> None:
    """Switches the account on or off."""
    check(lib.syncedmem_set_accounting(member(Accounting, accounting, "accounting")))


def get_accounting() -> Accounting:
    """Whether the account is on."""
    return Accounting(_get(lib.syncedmem_get_accounting, "syncedmem_accounting_t *"))


def set_device_check(on: bool) -> None:
    """Switches the device check: an access is an error while another device than that of the data is current."""
    check(lib.syncedmem_set_device_check(flag(on, "on")))


def get_device_check() -> bool:
    """Whether the device check is on."""
    return bool(_get(lib.syncedmem_get_device_check, "bool *"))
