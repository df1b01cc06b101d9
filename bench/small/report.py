"""Prints how many instructions an object takes on each library, from callgrind's dumps of count.cpp.

usage: report.py FOLDER    exit status 1 if a bound is missed
"""

import re
import sys
from pathlib import Path
from typing import Dict, Tuple

# The most that the library may take of the original's, by size in bytes. At 4 KiB glibc's calloc, its zeros and free
# are 0.985 of what the original takes.
BOUNDS = {4: 0.90, 256: 0.60, 4096: 1.02, 65536: 1.00}


def counts(folder: Path) -> Dict[Tuple[str, int, int], int]:
    """Instructions by library, size and number of objects."""
    found = {}
    for dump in folder.glob("dump.*"):
        text = dump.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (\w+) (\d+) (\d+)$", text, re.M)
        total = re.search(r"^totals: (\d+)$", text, re.M)
        if name and total:
            found[name[1], int(name[2]), int(name[3])] = int(total[1])
    return found


def main() -> int:
    found = counts(Path(sys.argv[1]))

    def per_object(library: str, size: int) -> float:
        few, many = sorted(objects for name, of, objects in found if (name, of) == (library, size))
        return (found[library, size, many] - found[library, size, few]) / (many - few)

    print("instructions per object: constructed, touched with mutable_cpu_data, destroyed (callgrind)")
    print(f"{'size':>8}{'original':>12}{'library':>12}{'ratio':>8}  bound")
    missed = 0
    for size, bound in BOUNDS.items():
        original, library = per_object("original", size), per_object("library", size)
        kept = library <= bound * original
        missed += not kept
        verdict = f"<= {bound:.2f}: {'kept' if kept else 'MISSED'}"
        print(f"{size:>8}{original:>12.0f}{library:>12.0f}{library / original:>8.3f}  {verdict}")
    print(f"instructions: {len(BOUNDS) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
