"""Turns the samples that measure.cpp prints into a table, a JSON file and, with --check, a verdict."""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Dict, List

from bounds import Bound, bounds, misses
from samples import MANY, Row, Samples, read_samples, readable
from system import describe_system, huge_page_bytes


def shown(row: Row, samples: List[float]) -> str:
    low, high = (readable(edge, row.unit) for edge in row.spread(samples))
    return f"{readable(statistics.median(samples), row.unit)} [{low} - {high}]"


def readable_path(path: str) -> str:
    """A path as others can read it: from the source tree, or from the home folder."""
    for folder, name in ((Path(__file__).resolve().parents[2], ""), (Path.home(), "~/")):
        if folder in Path(path).parents:
            return name + str(Path(path).relative_to(folder))
    return path


def print_header(about: Dict[str, str], system: Dict[str, object]) -> None:
    memory = system["memory_bytes"]
    gib = f"{memory / 2**30:.1f} GiB" if isinstance(memory, int) else "memory unknown"
    kind = "virtual machine" if system["virtual_machine"] else "no hypervisor seen"
    settings = system["settings"]
    assert isinstance(settings, dict)
    pinned = about["pinned_to"]
    binding = f"pinned to processor {pinned}" if pinned != "none" else "not pinned (refused by the system)"
    lines = [
        ("original", f"{readable_path(about['original'])} ({about['original_inner_calls']} calls to its own, all bound inside)"),
        ("library", f"{readable_path(about['library'])} ({about['library_inner_calls']} calls to its own, all bound inside)"),
        ("machine", f"{system['processor']}, {about['processors']} processors, {gib}, {kind}"),
        ("system", f"{system['kernel']}, {system['c_library']}; {binding}"),
        ("huge pages", f"{system['huge_pages']}, defrag {system['huge_page_defrag']}"),
        ("settings", ", ".join(f"{k}={v}" for k, v in settings.items()) or "none in the environment"),
        ("method", "rival, library, library, rival in turn, each once untimed before it is timed; the first round"),
        ("", "is discarded. In one process; networks, many small objects and those passed between threads in two"),
        ("", "processes, one to each side. Settled: there a block of 16 MB was freed before, after which glibc keeps more"),
        ("networks", "an image's objects constructed, a byte of each page written, all destroyed, if not written in full"),
        ("figures", "times: median [10th - 90th percentile; of fewer than 10 samples, and else, least - most]"),
        ("ratio", "library's median / rival's: below 1 is faster"),
        ("loop", f"with an empty call {float(about['empty_call_ns']):.2f} ns, in every figure, subtracted from none"),
    ]
    if about["original"] == about["library"]:
        lines.append(("note", "a library against itself: the ratios are this machine's noise"))
    print("Caffe's SyncedMemory: the original, some allocators, and this library, same work, side by side")
    for name, text in lines:
        print(f"  {name:<11}{text}")
    print()


def print_table(rows: List[Row], kept: Dict[str, Bound]) -> None:
    width = max(len(row.description) for row in rows)
    rival = None
    for row in rows:
        if row.rival != rival:
            print(f"{'' if rival is None else chr(10)}{'':<{width}}  {row.rival:<31} {'library':<31} ratio  bound")
            rival = row.rival
        ratio = f"{row.ratio:5.2f}" if row.ratio is not None else "    -"
        bound = kept.get(row.id)
        verdict = f"{bound.sentence}: {'kept' if bound.met_by(row) else 'MISSED'}" if bound else ""
        line = f"{row.description:<{width}}  {shown(row, row.of_rival):<31} {shown(row, row.of_library):<31} {ratio}  {verdict}"
        print(line.rstrip())


def as_json(samples: Samples, system: Dict[str, object], kept: Dict[str, Bound]) -> Dict[str, object]:
    def side(row: Row, values: List[float]) -> Dict[str, float]:
        low, high = row.spread(values)
        names = ("p10", "p90") if row.unit == "ns" and len(values) >= MANY else ("least", "most")
        return {"median": statistics.median(values), names[0]: low, names[1]: high, "samples": len(values)}

    rows = []
    for row in samples.rows:
        entry: Dict[str, object] = {
            "id": row.id,
            "description": row.description,
            "unit": row.unit,
            "rival": row.rival,
            row.rival: side(row, row.of_rival),
            "library": side(row, row.of_library),
            "ratio": row.ratio,
        }
        if row.id in kept:
            entry["bound"] = kept[row.id].sentence
            entry["kept"] = kept[row.id].met_by(row)
        rows.append(entry)
    return {"about": samples.about, "system": system, "rows": rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", help="what measure printed")
    parser.add_argument("--json", required=True, metavar="FILE", help="where the figures are written")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a bound is missed")
    options = parser.parse_args()

    samples = read_samples(options.samples)
    system = describe_system()
    kept = bounds(huge_page_bytes())
    print_header(samples.about, system)
    print_table(samples.rows, kept)
    Path(options.json).write_text(json.dumps(as_json(samples, system, kept), indent=2) + "\n")
    print()
    print(f"written to {options.json}", file=sys.stderr)
    if not options.check:
        return 0
    missed = misses(samples.rows, kept)
    for sentence in missed:
        print(sentence)
    print(f"bench: {len(kept) - len(missed)} bounds kept, {len(missed)} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
