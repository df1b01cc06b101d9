"""The enumerations and the statistics, made from those of the C API.

Type checkers read `_types.pyi`, which stub.py makes from the C headers.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

from ._library import ffi, lib

# The name in Python, the name in C, and the prefixes of its values.
ENUMS = (
    ("Status", "syncedmem_status_t", ("SYNCEDMEM_ERROR_", "SYNCEDMEM_")),
    ("Head", "syncedmem_head_t", ("SYNCEDMEM_",)),
    ("Memory", "syncedmem_memory_t", ("SYNCEDMEM_MEMORY_",)),
    ("Eviction", "syncedmem_eviction_t", ("SYNCEDMEM_EVICT_",)),
    ("Mode", "syncedmem_mode_t", ("SYNCEDMEM_MODE_",)),
    ("Pinning", "syncedmem_pinning_t", ("SYNCEDMEM_PIN_",)),
    ("ErrorPolicy", "syncedmem_error_policy_t", ("SYNCEDMEM_ON_ERROR_",)),
    ("Accounting", "syncedmem_accounting_t", ("SYNCEDMEM_ACCOUNTING_",)),
    ("Side", "syncedmem_side_t", ("SYNCEDMEM_",)),
    ("Kind", "syncedmem_access_t", ("SYNCEDMEM_",)),
    ("ModelKind", "syncedmem_model_kind_t", ("SYNCEDMEM_MODEL_",)),
)
STRUCTS = (
    ("Sum", "syncedmem_sum_t"),
    ("MemoryStats", "syncedmem_memory_stats_t"),
    ("Stats", "syncedmem_stats_t"),
)


def short_name(name: str, prefixes: tuple[str, ...]) -> str:
    """A value's name without the prefix of its enumeration."""
    return next(name[len(prefix) :] for prefix in prefixes if name.startswith(prefix))


def _enum(name: str, c_name: str, prefixes: tuple[str, ...]) -> Any:
    values = ffi.typeof(f"enum {c_name}").relements
    members = {short_name(c_value, prefixes): number for c_value, number in values.items()}
    made: Any = enum.IntEnum(name, members, module="syncedmem")  # type: ignore[misc]
    made.__doc__ = f"C's `{c_name}`."
    return made


def _struct(name: str, c_name: str) -> Any:
    fields = [field for field, _ in ffi.typeof(c_name).fields if field != "size"]
    made = dataclasses.make_dataclass(name, fields, frozen=True)
    made.__module__ = "syncedmem"
    made.__doc__ = f"C's `{c_name}`."
    return made


for _name, _c_name, _prefixes in ENUMS:
    globals()[_name] = _enum(_name, _c_name, _prefixes)
for _name, _c_name in STRUCTS:
    globals()[_name] = _struct(_name, _c_name)


def _value(value: Any) -> Any:
    if not isinstance(value, ffi.CData):
        return value
    made = globals()[next(name for name, c_name in STRUCTS if ffi.typeof(value) is ffi.typeof(c_name))]
    return made(*(_value(getattr(value, field.name)) for field in dataclasses.fields(made)))


def read_stats() -> tuple[int, Any]:
    """The status of `syncedmem_stats`, and what it wrote."""
    stats = ffi.new("syncedmem_stats_t *")
    stats.size = ffi.sizeof("syncedmem_stats_t")
    return lib.syncedmem_stats(stats), _value(stats[0])
