"""Draws the figures of a run, from its JSON: plot.py FILE FOLDER."""

import json
import re
import sys
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Tuple

from samples import readable
from svg import Axis, Drawing, around

WIDTH = 860
TOP = 64  # below title and legend
ROW = 24
NAMES = {
    "library": "this library",
    "original": "Caffe's original",
    "malloc": "malloc",
    "mimalloc": "mimalloc",
    "jemalloc": "jemalloc",
}
Values = Dict[str, float]  # by side


def times(rows: Sequence[dict], id: str) -> Values:
    """What each side took for the row. Only what was measured in turn can be compared, so that a rival is drawn where
    its ratio puts it beside the library's time; that one is from the turns with the original, if there were any."""
    taken = [row for row in rows if row["id"] in (id, f"{row['rival']}.{id}")]
    taken.sort(key=lambda row: row["rival"] != "original")
    found: Values = {}
    for row in taken:
        library = found.setdefault("library", row["library"]["median"])
        # Those that add nothing to malloc but a state are in the table alone.
        if row["rival"] in NAMES and row["ratio"]:
            found[row["rival"]] = library / row["ratio"]
    return found


def in_order(sides: Sequence[str]) -> List[str]:
    return [side for side in NAMES if side in sides]


def bytes_of(value: float) -> str:
    return readable(value, "bytes")


def vertical_grid(drawing: Drawing, axis: Axis, top: float, bottom: float, unit: str) -> None:
    for value in axis.decades():
        drawing.line(axis.at(value), top, axis.at(value), bottom)
        drawing.text(axis.at(value), bottom + 18, readable(value, unit), "middle")


def dots(title: str, rows: Sequence[Tuple[str, Values]], unit: str, even: Optional[float] = None) -> Drawing:
    """A line to a row, a dot to a side; `even` is marked by a line through all of them."""
    sides = in_order({side for _, values in rows for side in values})
    left = 20 + 6.6 * max(len(name) for name, _ in rows)
    bottom = TOP + ROW * len(rows)
    drawing = Drawing(WIDTH, bottom + 26, title)
    every = [value for _, values in rows for value in values.values()]
    axis = Axis(*around(every + ([even] if even else [])), left, WIDTH - 40)
    vertical_grid(drawing, axis, TOP, bottom, unit)
    if even:
        drawing.line(axis.at(even), TOP, axis.at(even), bottom, "even")
    for number, (name, values) in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        drawing.text(left - 12, y + 4, name, "end")
        for side in in_order(values):
            drawing.dot(axis.at(values[side]), y, side, f"{NAMES[side]}: {readable(values[side], unit)}")
    drawing.legend(sides, NAMES)
    return drawing


def lines(title: str, points: Dict[str, List[Tuple[float, float]]]) -> Drawing:
    """Time by size."""
    height, left, bottom = 400, 76, 400 - 40
    drawing = Drawing(WIDTH, height, title)
    sizes = sorted({size for line in points.values() for size, _ in line})
    times = [time for line in points.values() for _, time in line]
    across = Axis(sizes[0], sizes[-1], left + 10, WIDTH - 40)
    up = Axis(*around(times), bottom, TOP)
    for size in sizes:
        drawing.line(across.at(size), TOP, across.at(size), bottom)
        drawing.text(across.at(size), bottom + 18, bytes_of(size), "middle")
    for value in up.decades():
        drawing.line(left, up.at(value), WIDTH - 30, up.at(value))
        drawing.text(left - 8, up.at(value) + 4, readable(value, "ns"), "end")
    for side in in_order(points):
        at = [(across.at(size), up.at(time)) for size, time in points[side]]
        drawing.path(at, side)
        for (x, y), (size, time) in zip(at, points[side]):
            drawing.dot(x, y, side, f"{NAMES[side]}, {bytes_of(size)}: {readable(time, 'ns')}")
    drawing.legend(in_order(points), NAMES)
    return drawing


def by_size(rows: Sequence[dict], prefix: str) -> Dict[str, List[Tuple[float, float]]]:
    """The rows called PREFIX.SIZE, as lines; nothing if there is one size alone."""
    timed = [row["id"] for row in rows if row["unit"] == "ns"]
    ids = {id[id.index(prefix) :] for id in timed if f".{prefix}." in f".{id}"}
    points: Dict[str, List[Tuple[float, float]]] = {}
    for id in sorted(ids, key=lambda id: int(id.rsplit(".", 1)[1])):
        for side, median in times(rows, id).items():
            points.setdefault(side, []).append((float(id.rsplit(".", 1)[1]), median))
    # One size is no line.
    return points if len(ids) > 1 else {}


def networks(rows: Sequence[dict]) -> List[Tuple[str, Values]]:
    cases = [("AlexNet", "alexnet"), ("VGG-16", "vgg16"), ("Faster R-CNN", "faster_rcnn")]
    ways = [("", "pages"), (", written in full", "full"), (", settled", "settled.pages")]
    named = [(title + how, times(rows, f"churn.{net}.{way}")) for title, net in cases for how, way in ways]
    return [(name, values) for name, values in named if values]


def ratios(rows: Sequence[dict]) -> List[Tuple[str, Values]]:
    """Every time beside the original's."""
    between = re.compile(r"own\..*\.[24]$")  # one thread and eight say enough
    timed = [
        row
        for row in rows
        if row["rival"] == "original" and row["unit"] == "ns" and row["ratio"] and not between.match(row["id"])
    ]
    return [(row["description"], {"library": row["ratio"]}) for row in timed]


def measured_on(run: dict) -> str:
    system = run["system"]
    kind = "a virtual machine" if system["virtual_machine"] else "no hypervisor seen"
    settings = "".join(f", {name}={value}" for name, value in system["settings"].items())
    return f"scripts/bench on {system['processor']}, {run['about']['processors']} processors, {kind}{settings}"


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    run = json.loads(Path(sys.argv[1]).read_text())
    rows = run["rows"]
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    drawings = {}
    if found := networks(rows):
        drawings["networks"] = dots("The memory of a network, made anew for each image", found, "ns")
    if found := by_size(rows, "cached"):
        drawings["reuse"] = lines("Memory to overwrite, acquired and released again and again, by size", found)
    if found := ratios(rows):
        drawings["ratios"] = dots("Time relative to Caffe's original: left of the line is faster", found, "times", 1.0)
    for name, drawing in drawings.items():
        drawing.foot(measured_on(run))
        (folder / f"{name}.svg").write_text(drawing.svg())
        print(f"drawn: {folder / name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
