"""Text that the library writes, of any length, and tables for notebooks."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import Any

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


def table(title: str, head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table of HTML."""

    def row(tag: str, cells: Iterable[object]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><caption>{html.escape(title)}</caption>{row('th', head)}{body}</table>"
