"""Keeps a run of measure.py: writes it to bench/results-caffe.md, behind it the notes that are there by hand, and its first
table into the README.

usage: keep.py RUN
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = re.compile(r"^\| Program \| wall time .*\n(?:\|.*\n)+", re.M)
# The first heading of the second level: what follows is written by hand.
NOTES = re.compile(r"^## .*", re.M | re.S)


def main() -> None:
    run = Path(sys.argv[1]).read_text()
    kept, readme = ROOT / "bench/results-caffe.md", ROOT / "README.md"
    notes, new, old = NOTES.search(kept.read_text()), TABLE.search(run), TABLE.search(readme.read_text())
    if new is None or old is None:
        sys.exit(f"keep.py: {'the run' if new is None else 'the README'} has no table of programs")
    kept.write_text(run + (f"\n{notes[0]}" if notes else ""))
    readme.write_text(readme.read_text().replace(old[0], new[0]))


if __name__ == "__main__":
    main()
