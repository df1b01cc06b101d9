"""Prints how many instructions an object takes on each library, from callgrind's dumps of instructions.cpp, and how many the library of
names adds to a layer of a net, from the dumps of nets.cpp.

usage: instructions.py FOLDER    exit status 1 if a bound is missed
"""

import re
import sys
from pathlib import Path
from typing import Dict, Tuple

# The most that the library may take of the original's, by size in bytes. From 2 KiB on glibc clears by one instruction,
# which callgrind counts once for each byte.
BOUNDS = {4: 1.00, 256: 0.70, 4096: 1.05, 65536: 1.02}
# States that another object was in before, or is in: the counted objects must not cost more for it.
STATES = {
    "plain": "",
    "tensor": "while a tensor lives",
    "push": "after one push",
    "trace": "after a trace",
}
# The most instructions that libsyncedmem_net.so may add to a layer: some 30 microseconds.
LAYER = 200_000
# The most that it may add to a layer of a larger net, or of one of many nets, as a multiple of the smaller net's or one net's layer. A net
# that was searched at each of its layers would cost more with each.
GROWTH = 1.5
Key = Tuple[str, str, int, int]


def counts(folder: Path) -> Dict[Key, int]:
    """Instructions by library, state, size in bytes and number of objects: the fewest of several dumps."""
    found: Dict[Key, int] = {}
    for dump in folder.glob("dump.*"):
        text = dump.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (\w+) ([\w-]+) (\d+) (\d+)$", text, re.M)
        total = re.search(r"^totals: (\d+)$", text, re.M)
        if name and total:
            key = name[1], name[2], int(name[3]), int(name[4])
            found[key] = min(int(total[1]), found.get(key, sys.maxsize))
    return found


def nets(found: Dict[Key, int]) -> Tuple[int, int]:
    """Prints what libsyncedmem_net.so adds to a layer of nets; returns how many bounds were kept and how many were missed."""

    def per_layer(layers: int, nets: int) -> float:
        named, plain = (found["nets", title, layers, nets] for title in ("names", "plain"))
        return (named - plain) / (layers * nets)

    print("instructions per layer that libsyncedmem_net.so adds: a net made, run once and ended (callgrind)")
    print(f"{'':<22}{'layers':>8}{'nets':>8}{'added':>12}{'':>8}  bound")
    one, some, many, often = (per_layer(*row) for row in ((1, 1), (100, 1), (1000, 1), (1, 1000)))
    missed = 0
    for layers, nets, added, bound in (
        (1, 1, one, None),
        (100, 1, some, LAYER),
        (1000, 1, many, min(LAYER, GROWTH * some)),
        (1, 1000, often, GROWTH * one),
    ):
        kept = bound is None or 0 < added <= bound
        missed += not kept
        verdict = "" if bound is None else f"<= {bound:.0f}: {'kept' if kept else 'MISSED'}"
        print(f"{'':<22}{layers:>8}{nets:>8}{added:>12.0f}{'':>8}  {verdict}")
    return 3 - missed, missed


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
    # scripts/bench counts nets where the original is Debian's Caffe.
    if any(key[0] == "nets" for key in found):
        of_nets = nets(found)
        passed, missed = passed + of_nets[0], missed + of_nets[1]
    print(f"instructions: {passed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
