"""Keeps a run of measure.py: writes it to bench/results-caffe.md, behind it the notes that are there by hand.

usage: keep.py RUN
"""

import re
import sys
from pathlib import Path

# The first heading of the second level: what follows is written by hand.
NOTES = re.compile(r"^## .*", re.M | re.S)


def main() -> None:
    kept = Path(__file__).resolve().parents[2] / "bench/results-caffe.md"
    notes = NOTES.search(kept.read_text())
    kept.write_text(Path(sys.argv[1]).read_text() + (f"\n{notes[0]}" if notes else ""))


if __name__ == "__main__":
    main()
