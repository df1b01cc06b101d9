"""Turns the samples that measure.cpp prints into a table, a JSON file and, with --check, a verdict."""

import argparse
import json
import os
import platform
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional

THP = Path("/sys/kernel/mm/transparent_hugepage")

# "No slower" within the noise of the measurement. The original against itself (its path given for
# --library too) strayed by at most 1 % in every row with a bound, in each of three runs on a virtual
# machine with two processors and other work on it; 5 % leaves room for another build's code layout.
NO_SLOWER = 1.05
FAST_PATH = 0.45
HUGE_PAGES = 0.25


@dataclass
class Row:
    """One figure of both libraries: nanoseconds, bytes or a count, as `unit` says."""

    id: str
    unit: str
    description: str
    original: List[float]
    library: List[float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.library) / statistics.median(self.original)

    def spread(self, samples: List[float]) -> "tuple[float, float]":
        """The 10th and 90th percentile of a time; the least and the most of anything else."""
        if self.unit == "ns":
            tenths = statistics.quantiles(samples, n=10, method="inclusive")
            return tenths[0], tenths[-1]
        return min(samples), max(samples)


@dataclass
class Samples:
    about: Dict[str, str]
    rows: List[Row]


def read_samples(path: str) -> Samples:
    about: Dict[str, str] = {}
    rows: List[Row] = []
    for line in Path(path).read_text().splitlines():
        kind, *fields = line.split("\t")
        if kind == "about":
            about[fields[0]] = fields[1]
        elif kind == "row":
            numbers = [[float(number) for number in field.split()] for field in fields[3:]]
            rows.append(Row(fields[0], fields[1], fields[2], *numbers))
        else:
            sys.exit(f"report.py: {path}: a line of kind {kind!r}, where 'about' or 'row' was expected")
    if not rows:
        sys.exit(f"report.py: {path}: nothing was measured (does --only name a row that exists?)")
    return Samples(about, rows)


def chosen(file: Path) -> str:
    """The bracketed word of a sysfs setting such as 'always [madvise] never'."""
    try:
        match = re.search(r"\[([^]]+)\]", file.read_text())
    except OSError:
        return "absent"
    return match.group(1) if match else "unknown"


def huge_page_setting() -> str:
    """always, madvise, never or absent, for pages of 2 MiB in this process."""
    setting = chosen(THP / "enabled")
    # Since Linux 6.8 each size has a switch of its own, which may refer to the common one.
    own = chosen(THP / "hugepages-2048kB" / "enabled")
    if own not in ("absent", "unknown", "inherit"):
        setting = own
    status = Path("/proc/self/status").read_text()
    return "never" if re.search(r"^THP_enabled:\s*0", status, re.M) else setting


def huge_page_bytes() -> int:
    try:
        return int((THP / "hpage_pmd_size").read_text())
    except OSError:
        return 2 * 1024 * 1024


def huge_pages_allowed(system: Dict[str, object]) -> bool:
    """Whether the system lets the library use huge pages, and nothing asked it not to."""
    asked = system["settings"]
    assert isinstance(asked, dict)
    switched_off = asked.get("SYNCEDMEM_HUGE_PAGES") == "never" or asked.get("SYNCEDMEM_HOST_BLOCKS") == "malloc"
    return system["huge_pages"] in ("always", "madvise") and not switched_off


def describe_system() -> Dict[str, object]:
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", cpuinfo, re.M)
    memory = re.search(r"MemTotal:\s*(\d+) kB", Path("/proc/meminfo").read_text())
    return {
        "processor": model.group(1) if model else platform.machine(),
        "virtual_machine": bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.M)),
        "memory_bytes": int(memory.group(1)) * 1024 if memory else None,
        "kernel": f"{platform.system()} {platform.release()}",
        "c_library": os.confstr("CS_GNU_LIBC_VERSION") or "unknown",
        "huge_pages": huge_page_setting(),
        "huge_page_defrag": chosen(THP / "defrag"),
        # What would change the figures, if it was set.
        "settings": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(("SYNCEDMEM_", "MALLOC_")) or name == "GLIBC_TUNABLES"
        },
    }


@dataclass
class Bound:
    """What a row must keep to: a ratio, or bytes above the original's."""

    sentence: str
    ratio: Optional[float] = None
    bytes_above: Optional[int] = None

    def met_by(self, row: Row) -> bool:
        if self.ratio is not None:
            return row.ratio <= self.ratio
        assert self.bytes_above is not None
        return max(row.library) <= statistics.median(row.original) + self.bytes_above


def bounds(huge_pages: bool) -> Dict[str, Bound]:
    no_slower = Bound(f"no slower (<= {NO_SLOWER:.2f})", ratio=NO_SLOWER)
    fast = Bound(f"<= {FAST_PATH:.2f}", ratio=FAST_PATH)
    large = Bound(f"<= {HUGE_PAGES:.2f}", ratio=HUGE_PAGES) if huge_pages else no_slower
    resident = Bound("one huge page above", bytes_above=huge_page_bytes())
    return {
        "cpu_data": fast,
        "mutable_cpu_data": fast,
        "construct": no_slower,
        "touch.4": no_slower,
        "touch.4096": no_slower,
        "touch.1048576": no_slower,
        "touch.67108864": large,
        "touch.1073741824": large,
        "one_byte.first.time": no_slower,
        "one_byte.first.resident": resident,
        # The middle has no bound on its time: it is the price of the huge pages that the bounds above ask for.
        "one_byte.middle.resident": resident,
    }


def readable(value: float, unit: str) -> str:
    if unit == "count":
        return f"{value:g}"
    steps = [("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1)]
    if unit == "ns":
        steps = [("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)]
    # Three digits are shown: what they would round up to 1000 belongs to the next unit.
    name, size = next((step for step in steps if abs(value) >= 0.9995 * step[1]), steps[-1])
    return f"{value / size:.3g} {name}" if unit == "ns" else f"{value / size:g} {name}"


def shown(row: Row, samples: List[float]) -> str:
    low, high = (readable(edge, row.unit) for edge in row.spread(samples))
    return f"{readable(statistics.median(samples), row.unit)} [{low} - {high}]"


def readable_path(path: str) -> str:
    """A path as others can read it: from the source tree, or from the home folder."""
    for folder, name in ((Path(__file__).resolve().parent.parent, ""), (Path.home(), "~/")):
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
        ("method", "one process; original, library, library, original in turn, each once untimed before it is"),
        ("", "timed; the first round is discarded"),
        ("figures", "times: median [10th - 90th percentile]; bytes, counts: median [least - most]"),
        ("ratio", "library's median / original's: below 1 is faster"),
        ("loop", f"with an empty call {float(about['empty_call_ns']):.2f} ns, in every figure, subtracted from none"),
    ]
    if about["original"] == about["library"]:
        lines.append(("note", "a library against itself: the ratios are this machine's noise"))
    print("Caffe's SyncedMemory: the original and this library, same work, side by side")
    for name, text in lines:
        print(f"  {name:<11}{text}")
    print()


def print_table(rows: List[Row], kept: Dict[str, Bound]) -> None:
    width = max(len(row.description) for row in rows)
    print(f"{'':<{width}}  {'original':<31} {'library':<31} ratio  bound")
    for row in rows:
        ratio = f"{row.ratio:5.2f}" if statistics.median(row.original) else "    -"
        bound = kept.get(row.id)
        verdict = f"{bound.sentence}: {'kept' if bound.met_by(row) else 'MISSED'}" if bound else ""
        line = f"{row.description:<{width}}  {shown(row, row.original):<31} {shown(row, row.library):<31} {ratio}  {verdict}"
        print(line.rstrip())


def as_json(samples: Samples, system: Dict[str, object], kept: Dict[str, Bound]) -> Dict[str, object]:
    def side(row: Row, values: List[float]) -> Dict[str, float]:
        low, high = row.spread(values)
        names = ("p10", "p90") if row.unit == "ns" else ("least", "most")
        return {"median": statistics.median(values), names[0]: low, names[1]: high, "samples": len(values)}

    rows = []
    for row in samples.rows:
        entry: Dict[str, object] = {
            "id": row.id,
            "description": row.description,
            "unit": row.unit,
            "original": side(row, row.original),
            "library": side(row, row.library),
            "ratio": row.ratio if statistics.median(row.original) else None,
        }
        if row.id in kept:
            entry["bound"] = kept[row.id].sentence
            entry["kept"] = kept[row.id].met_by(row)
        rows.append(entry)
    return {"about": samples.about, "system": system, "rows": rows}


def misses(rows: List[Row], kept: Dict[str, Bound]) -> List[str]:
    """A sentence for each bound that was missed; one that was not measured is missed."""
    found = []
    by_id = {row.id: row for row in rows}
    for name, bound in kept.items():
        row = by_id.get(name)
        if row is None:
            found.append(f"missed: {name}: not measured; bound: {bound.sentence}")
        elif not bound.met_by(row):
            was = f"ratio {row.ratio:.3f}"
            if bound.bytes_above is not None:
                was = f"{readable(max(row.library) - statistics.median(row.original), row.unit)} above"
            found.append(f"missed: {row.description}: {was}; bound: {bound.sentence}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", help="what measure printed")
    parser.add_argument("--json", required=True, metavar="FILE", help="where the figures are written")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a bound is missed")
    options = parser.parse_args()

    samples = read_samples(options.samples)
    system = describe_system()
    kept = bounds(huge_pages_allowed(system))
    print_header(samples.about, system)
    print_table(samples.rows, kept)
    Path(options.json).write_text(json.dumps(as_json(samples, system, kept), indent=2) + "\n")
    print(f"\nwritten to {options.json}")
    if not options.check:
        return 0
    missed = misses(samples.rows, kept)
    for sentence in missed:
        print(sentence)
    print(f"bench: {len(kept) - len(missed)} bounds kept, {len(missed)} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
