"""Exceptions for the library's errors."""

from __future__ import annotations

import re
import sys
from types import FrameType
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


def called() -> str:
    """The function of the package that the program has called, such as "Tensor.extend"."""
    outermost = sys._getframe()
    frame: FrameType | None = outermost
    while frame is not None:
        if frame.f_globals.get("__package__") == __package__:
            outermost = frame
        elif frame.f_globals.get("__name__") != "contextlib":
            break
        frame = frame.f_back
    name = outermost.f_code.co_name
    if name == "__getattr__":
        name = outermost.f_locals["name"]
    owner = outermost.f_locals.get("self", outermost.f_locals.get("cls"))
    if owner is None:
        return name
    kinds = (owner if isinstance(owner, type) else type(owner)).__mro__
    kind = next(kind.__name__ for kind in kinds if not kind.__name__.startswith("_"))
    return kind if name == "__init__" else f"{kind}.{name}"


# Python's names of C functions that sentences advise, where they differ from the C names.
_NAMES = {"model_open": "open_caffemodel"}


def _sentence(about: str) -> str:
    """The sentence of this thread's last failed call, with Python's names instead of the C API's."""
    # None at the interpreter's end, when finalisers may still fail.
    package = sys.modules.get(str(__package__))
    text = re.sub(r"^syncedmem_\w+: ", "", ffi.string(lib.syncedmem_last_error()).decode("utf-8", "replace"))

    def translated(found: re.Match[str]) -> str:
        name = _NAMES.get(found[1], found[1])
        known = hasattr(package, name) or hasattr(getattr(package, "SyncedMemory", None), name)
        return name if known else found[0]

    return f"{called()}: {about}" + re.sub(r"syncedmem_(\w+)", translated, text)


def failure(number: int, sentence: str | None = None, about: str = "") -> Exception:
    """The exception for a status, by default with the sentence of this thread's last failed call. `about` names a file."""
    if sentence is None:
        sentence = _sentence(about and f"{about}: ")
    kinds: dict[int, Any] = {Status.OUT_OF_MEMORY: OutOfMemoryError, Status.EXPORTED: ExportedError}
    error = kinds.get(number, Error)(sentence)
    try:
        error.status = Status(number)
    except ValueError:  # A later library has more.
        error.status = number
    made: Exception = error
    return made


def check(number: int) -> None:
    """Raises an exception unless the status is success."""
    if number != 0:
        raise failure(number)


def check_argument(number: int) -> None:
    """Raises `ValueError` for a refused argument, otherwise as `check`."""
    if number == Status.INVALID_ARGUMENT:
        raise ValueError(str(failure(number)))
    check(number)
