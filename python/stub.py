"""Writes the stub of the enumerations and statistics for type checkers, from the description of the C API.

usage: python stub.py [--check]      --check compares it with the file instead
"""

import json
import pathlib
import sys
import textwrap

from syncedmem._types import ENUMS, STRUCTS, short_name

HERE = pathlib.Path(__file__).resolve().parent
STUB = HERE / "src/syncedmem/_types.pyi"


def docstring(text: str, indent: str) -> str:
    lines = textwrap.wrap(" ".join(text.split()), 120 - len(indent) - 6)
    quoted = f"\n{indent}".join(lines).replace("\\", "\\\\")
    return f'{indent}"""{quoted}"""\n'


def stub(api: dict) -> str:
    enums = {each["name"]: each for each in api["enums"]}
    structs = {each["name"]: each for each in api["structs"]}
    python = {f"struct {c_name}": name for name, c_name in STRUCTS} | {c_name: name for name, c_name in STRUCTS}
    text = "# Made by stub.py from include/syncedmem.json. Do not edit.\nimport dataclasses\nimport enum\n"
    text += "\nENUMS: tuple[tuple[str, str, tuple[str, ...]], ...]\nSTRUCTS: tuple[tuple[str, str], ...]\n"
    text += "\ndef short_name(name: str, prefixes: tuple[str, ...]) -> str: ...\n"
    text += "def read_stats() -> tuple[int, Stats]: ...\n"
    for name, c_name, prefixes in ENUMS:
        text += f"\nclass {name}(enum.IntEnum):\n" + docstring(enums[c_name]["doc"], "    ")
        for value in enums[c_name]["values"]:
            text += f"    {short_name(value['name'], prefixes)} = {value['value']}\n" + docstring(value["doc"], "    ")
    for name, c_name in STRUCTS:
        text += f"\n@dataclasses.dataclass(frozen=True)\nclass {name}:\n" + docstring(structs[c_name]["doc"], "    ")
        for field in structs[c_name]["fields"]:
            if field["name"] != "size":
                text += f"    {field['name']}: {python.get(field['type'], 'int')}\n" + docstring(field["doc"], "    ")
    return text


def main() -> None:
    made = stub(json.loads((HERE.parent / "include/syncedmem.json").read_text("utf-8")))
    if sys.argv[1:] != ["--check"]:
        STUB.write_text(made, "utf-8")
    elif STUB.read_text("utf-8") != made:
        sys.exit(f"{STUB.name} is not what the C API says: run python stub.py")


if __name__ == "__main__":
    main()
