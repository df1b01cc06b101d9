"""Writes the stub of the enumerations and statistics for type checkers, from the C header.

usage: python stub.py [--check]      --check compares it with the file instead
"""

import pathlib
import re
import sys
import textwrap

from syncedmem._library import ffi
from syncedmem._types import ENUMS, STRUCTS, short_name

HERE = pathlib.Path(__file__).resolve().parent
STUB = HERE / "src/syncedmem/_types.pyi"
HEADERS = "\n".join(path.read_text("utf-8") for path in sorted((HERE.parent / "include").glob("*.h")))
COMMENT = r"/\*\*((?:(?!\*/).)*)\*/\s*"


def sentences(comment: str) -> str:
    return " ".join(line.strip().removeprefix("*").strip() for line in comment.splitlines()).strip()


def documented(name: str, body: str, member: str) -> tuple[str, dict[str, str]]:
    """The comment of a type of C, and those of its members."""
    found = re.search(COMMENT + body % name, HEADERS, re.DOTALL)
    if found is None:
        raise ValueError(f"no header documents {name}")
    members = re.findall(COMMENT + member, found[2], re.DOTALL)
    return sentences(found[1]), {name: sentences(comment) for comment, name in members}


def docstring(text: str, indent: str) -> str:
    lines = textwrap.wrap(" ".join(text.split()), 120 - len(indent) - 6)
    quoted = f"\n{indent}".join(lines).replace("\\", "\\\\")
    return f'{indent}"""{quoted}"""\n'


def stub() -> str:
    python = {ffi.typeof(c_name): name for name, c_name in STRUCTS}
    text = "# Made by stub.py from the C headers. Do not edit.\nimport dataclasses\nimport enum\n"
    text += "\nENUMS: tuple[tuple[str, str, tuple[str, ...]], ...]\nSTRUCTS: tuple[tuple[str, str], ...]\n"
    text += "\ndef short_name(name: str, prefixes: tuple[str, ...]) -> str: ...\n"
    text += "def read_stats() -> tuple[int, Stats]: ...\n"
    for name, c_name, prefixes in ENUMS:
        doc, values = documented(c_name, r"enum %s\n[^{]*\{(.*?)\n\};", r"(\w+) =")
        text += f"\nclass {name}(enum.IntEnum):\n" + docstring(doc, "    ")
        for number, value in sorted(ffi.typeof(f"enum {c_name}").elements.items()):
            text += f"    {short_name(value, prefixes)} = {number}\n" + docstring(values[value], "    ")
    for name, c_name in STRUCTS:
        doc, members = documented(c_name, r"typedef struct %s \{(.*?)\n\}", r"[\w ]+ (\w+);")
        text += f"\n@dataclasses.dataclass(frozen=True)\nclass {name}:\n" + docstring(doc, "    ")
        for member, field in ffi.typeof(c_name).fields:
            if member != "size":
                text += f"    {member}: {python.get(field.type, 'int')}\n" + docstring(members[member], "    ")
    return text


def main() -> None:
    made = stub()
    if sys.argv[1:] != ["--check"]:
        STUB.write_text(made, "utf-8")
    elif STUB.read_text("utf-8") != made:
        sys.exit(f"{STUB.name} is not what the C API says: run python stub.py")


if __name__ == "__main__":
    main()
