"""Text that the library writes, of any length, names of any bytes, and tables for notebooks."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from typing import Any, Union

from ._library import ffi


def read_text(write: Callable[[Any, int, Any], None]) -> str:
    """The text of a function that takes a buffer, its capacity and an address for the whole length."""
    length = ffi.new("size_t *")
    write(ffi.NULL, 0, length)
    while True:
        # It may have grown meanwhile.
        capacity = length[0] + 1
        text = ffi.new("char[]", capacity)
        write(text, capacity, length)
        if length[0] < capacity:
            return str(ffi.string(text).decode("utf-8", "replace"))


def escaped(name: Union[str, bytes]) -> str:
    """A name as the library's strings have it: bytes that are no UTF-8, NULs, and each `%` before two hexadecimal digits as `%BE`."""
    text = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
    return re.sub(r"%(?=[0-9A-Fa-f]{2})|\0|[\udc80-\udcff]", lambda found: f"%{ord(found[0]) & 0xFF:02X}", text)


def table(title: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of HTML."""

    def row(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><caption>{html.escape(title)}</caption>{row('th', head)}{body}</table>"
