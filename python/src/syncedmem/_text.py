"""Text of any length from the library, names of any bytes, and tables for notebooks."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from typing import Any, Union

from ._library import ffi


def read_text(write: Callable[[Any, int, Any], None]) -> str:
    """The text of a function that takes a buffer, its capacity and the address of the whole length."""
    length = ffi.new("size_t *")
    write(ffi.NULL, 0, length)
    while True:
        # The text may have grown since the first call.
        capacity = length[0] + 1
        text = ffi.new("char[]", capacity)
        write(text, capacity, length)
        if length[0] < capacity:
            return str(ffi.string(text).decode("utf-8", "replace"))


def escaped(name: Union[str, bytes]) -> str:
    """A name as in the library's strings: `%BE` for each byte that is not UTF-8, for NULs, and for a `%` before two hexadecimal digits."""
    text = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
    return re.sub(r"%(?=[0-9A-Fa-f]{2})|\0|[\udc80-\udcff]", lambda found: f"%{ord(found[0]) & 0xFF:02X}", text)


def table(title: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """An HTML table."""

    def row(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><caption>{html.escape(title)}</caption>{row('th', head)}{body}</table>"
