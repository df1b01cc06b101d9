"""Exceptions for the library's errors."""

from __future__ import annotations

from typing import Any

from ._library import ffi, lib
from ._types import Status


class Error(RuntimeError):
    """A failed call of the library. Its text says what was asked, what is wrong and what to do."""

    status: Status
    """The library's status."""


class OutOfMemoryError(MemoryError):
    """Host or device memory ran out, or the size is impossible. Its text is the library's sentence."""

    status: Status
    """The library's status."""


class ExportedError(BufferError):
    """The call would make arrays or tensors of the object invalid. Its text is the library's sentence."""

    status: Status
    """The library's status."""


def failure(number: int, sentence: str | None = None) -> Exception:
    """The exception for a status, by default with the sentence of this thread's last failed call."""
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
    """Raises an exception unless the status is success."""
    if number != 0:
        raise failure(number)


def check_argument(number: int) -> None:
    """As `check`, and raises `ValueError` for a refused argument."""
    if number == Status.INVALID_ARGUMENT:
        raise ValueError(str(failure(number)))
    check(number)
