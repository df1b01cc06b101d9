"""Numeric arguments. Values that Python would convert silently, such as 1.7 or "1", are refused, and the error names the argument."""

from __future__ import annotations

import enum
import operator
from typing import Any, TypeVar

import numpy as np

from ._errors import called

Member = TypeVar("Member", bound=enum.IntEnum)


def integer(value: Any, argument: str, least: int = -(1 << 63), most: float = (1 << 63) - 1) -> int:
    """The argument as an `int`. Raises `TypeError` if it is not an integer, `ValueError` if it is out of range."""
    try:
        number = operator.index(bool(value) if isinstance(value, np.bool_) else value)
    except TypeError:
        raise TypeError(f"{called()}: {argument} is {value!r}; pass an integer") from None
    if not least <= number <= most:
        raise ValueError(f"{called()}: {argument} is {number}; pass an integer from {least} to {most}")
    return number


def size(value: Any, argument: str) -> int:
    """The argument as a C `size_t` or an address; see `integer`."""
    return integer(value, argument, 0, (1 << 64) - 1)


def flag(value: Any, argument: str) -> int:
    """The argument as a C `bool`; see `integer`."""
    return integer(value, argument, 0, 1)


def shape_of(shape: Any, argument: str = "shape", most: int = (1 << 63) - 1) -> tuple[int, ...]:
    """The lengths of a shape, which may be one number."""
    try:
        lengths = tuple(shape)
    except TypeError:
        lengths = (shape,)
    return tuple(integer(length, f"a length in {argument}", 0, most) for length in lengths)


def member(kind: type[Member], value: Any, argument: str) -> Member:
    """A value of an enumeration, which may be its number."""
    try:
        return kind(operator.index(value))
    except (TypeError, ValueError) as error:
        values = ", ".join(f"{kind.__name__}.{each.name}" for each in sorted(kind))
        raise type(error)(f"{called()}: {argument} is {value!r}; pass one of {values}") from None
