"""Trains the same net with Caffe's own SyncedMemory and with ours, and prints both side by side.

Started by `scripts/demo`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from training import ITERATIONS, Trained, prepare, train
from tree import Caffe, Missing

# The order alternates, so that a machine that warms up or slows down favours neither.
ROUNDS = ("original", "ours", "ours", "original")


def table(original: list[Trained], ours: list[Trained]) -> list[tuple[str, str, str]]:
    """Rows of name, the original's figure and ours; the first run's where runs cannot differ."""
    left, right = original[0], ours[0]
    rows = [("", "Caffe's own", "libsyncedmem")]
    for (iteration, loss), (_, other) in zip(left.losses, right.losses):
        rows.append((f"loss at iteration {iteration}", loss, other))
    rows.append(("right on unseen images", left.accuracy, right.accuracy))
    for name in left.files:
        rows.append((name, left.files[name][:12], right.files.get(name, "missing")[:12]))
    for name, figure in (
        ("time, best of two", lambda runs: f"{min(r.run.seconds for r in runs):.2f} s"),
        ("peak memory, higher of two", lambda runs: f"{max(r.run.peak_bytes for r in runs) / 2**20:.1f} MiB"),
    ):
        rows.append((name, figure(original), figure(ours)))
    for name, count in right.run.calls.items():
        if count:
            rows.append((f"calls of {name}", "", f"{count}"))
    return rows


def main() -> int:
    """Runs the demonstration; 1 if the models differ or no call reached the library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    options = parser.parse_args()
    library = options.library.resolve()
    runs: dict[str, list[Trained]] = {"original": [], "ours": []}
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        prepare(Path(folder), options.iterations)
        caffe = Caffe()
        for number, which in enumerate(ROUNDS, 1):
            print(f"    training {number} of {len(ROUNDS)}: {which}", file=sys.stderr, flush=True)
            preload = library if which == "ours" else None
            # Calls are counted once only: the other run shows the time without counting.
            count = which == "ours" and not runs["ours"]
            try:
                runs[which].append(train(caffe, Path(folder), preload=preload, count_calls=count))
            except (AssertionError, Missing) as reason:
                print(f"demo: with {which}: {reason}", file=sys.stderr)
                return 1
    print()
    for name, left, right in table(runs["original"], runs["ours"]):
        print(f"{name:<30} {left:>14} {right:>14}")
    print()
    same = all(run.files == runs["original"][0].files for run in runs["original"] + runs["ours"])
    called = sum(runs["ours"][0].run.calls.values())
    print(f"The models are {'identical, byte for byte' if same else 'DIFFERENT'}: sha256 {runs['ours'][0].model}")
    print(f"{called} SyncedMemory calls of this unmodified Caffe reached the library.")
    return 0 if same and called else 1


if __name__ == "__main__":
    sys.exit(main())
