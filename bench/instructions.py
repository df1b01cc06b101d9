"""Prints how many instructions an object takes on each library, from callgrind's dumps of instructions.cpp.

usage: instructions.py FOLDER    exit status 1 if a bound is missed
"""

import re
import sys
from pathlib import Path
from typing import Dict, Tuple

# The most that the library may take of the original's, by size in bytes. From 2 KiB on glibc clears by one instruction,
# which callgrind counts once for each byte.
BOUNDS = {4: 1.00, 256: 0.70, 4096: 1.05, 65536: 1.02}
# What the process did with another object before, or does: these objects are not to feel it.
STATES = {
    "plain": "",
    "tensor": "while a tensor lives",
    "push": "after one push",
    "pin": "after one pin",
    "trace": "after a trace",
}
Key = Tuple[str, str, int, int]


def counts(folder: Path) -> Dict[Key, int]:
    """Instructions by library, state, size and number of objects."""
    found = {}
    for dump in folder.glob("dump.*"):
        text = dump.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (\w+) ([\w-]+) (\d+) (\d+)$", text, re.M)
        total = re.search(r"^totals: (\d+)$", text, re.M)
        if name and total:
            found[name[1], name[2], int(name[3]), int(name[4])] = int(total[1])
    return found


def main() -> int:
    found = counts(Path(sys.argv[1]))

    def per_object(library: str, state: str, size: int) -> float:
        few, many = sorted(key[3] for key in found if key[:3] == (library, state, size))
        return (found[library, state, size, many] - found[library, state, size, few]) / (many - few)

    print("instructions per object: constructed, touched with mutable_cpu_data, destroyed (callgrind)")
    print(f"{'':<22}{'size':>8}{'original':>12}{'library':>12}{'ratio':>8}  bound")
    missed = passed = 0
    for state, title in STATES.items():
        for size, bound in BOUNDS.items():
            original, library = per_object("original", "plain", size), per_object("library", state, size)
            kept = library <= bound * original
            missed += not kept
            passed += kept
            verdict = f"<= {bound:.2f}: {'kept' if kept else 'MISSED'}"
            print(f"{title:<22}{size:>8}{original:>12.0f}{library:>12.0f}{library / original:>8.3f}  {verdict}")
    print(f"instructions: {passed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
