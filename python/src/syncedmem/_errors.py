"""The library's failures as exceptions."""

from __future__ import annotations

from typing import Any

from ._library import ffi, lib
from ._types import Status


class Error(RuntimeError):
    """A call of the library that failed.

    Its text is the library's sentence: what was asked, what is wrong, what to do.
    """

    status: Status
    """The library's status."""


class OutOfMemoryError(MemoryError):
    """Host or device memory ran out, or the size asked for cannot exist. Its text is the library's sentence."""

    status: Status
    """The library's status."""


class ExportedError(BufferError):
    """Arrays or tensors of the object are in use, which the call would make invalid.

    Its text is the library's sentence.
    """

    status: Status
    """The library's status."""


def failure(number: int, sentence: str | None = None) -> Exception:
    """The exception for a status of the library's; its sentence is that of this thread's last call that failed."""
    if sentence is None:
        sentence = ffi.string(lib.syncedmem_last_error()).decode("utf-8", "replace")
    kinds: dict[int, Any] = {Status.OUT_OF_MEMORY: OutOfMemoryError, Status.EXPORTED: ExportedError}
    error = kinds.get(number, Error)(sentence)
    try:
        error.status = Status(number)
    except ValueError:  # of a later library
        error.status = number
    made: Exception = error
    return made


def check(number: int) -> None:
    """Raises where the library's status is not success."""
    if number != 0:
        raise failure(number)
