"""Runs the same programs on Caffe's own SyncedMemory and on the library, and prints both side by side.

Started by `scripts/demo`.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from training import ITERATIONS, Trained, prepare, train
from tree import Caffe, Missing

# The order alternates, so that a machine that warms up or slows down favours neither.
ORDER = ("original", "ours", "ours", "original")


def row(name: str, left: str, right: str, verdict: str = "") -> None:
    """Prints one line of the comparison."""
    print(f"  {name:<28} {left:>16} {right:>16}   {verdict}".rstrip())


def compared(left: list[float], right: list[float]) -> str:
    """The ratio of two sets of times, or no difference if their ranges overlap."""
    if max(min(left), min(right)) <= min(max(left), max(right)):
        return "no difference"
    ratio = statistics.median(left) / statistics.median(right)
    return f"{ratio:.1f} times as fast" if ratio > 1 else f"{1 / ratio:.1f} times as slow"


def times(name: str, left: list[float], right: list[float]) -> None:
    """A row of ranges, from the fastest to the slowest."""
    row(name, *(f"{min(side):.2f} to {max(side):.2f} s" for side in (left, right)), compared(left, right))


def training(caffe: Caffe, library: Path, folder: Path, keep: Path) -> tuple[bool, int]:
    """Compares trainings, and keeps what one saved; whether all models are identical, and how many calls reached the library."""
    runs: dict[str, list[Trained]] = {"original": [], "ours": []}
    for number, which in enumerate(ORDER, 1):
        print(f"    training {number} of {len(ORDER)}: {which}", file=sys.stderr, flush=True)
        # One of the two runs on the library counts calls; the other shows the time without counting.
        count = which == "ours" and not runs["ours"]
        preload = library if which == "ours" else None
        runs[which].append(train(caffe, folder, preload=preload, count_calls=count, keep=keep if preload else None))
    original, ours = runs["original"][0], runs["ours"][0]
    print()
    row("", "Caffe's own", "libsyncedmem")
    print("A training of a small net")
    for (iteration, loss), (_, other) in list(zip(original.losses, ours.losses))[:: max(1, len(original.losses) // 3)]:
        row(f"loss at iteration {iteration}", loss, other)
    row("right on unseen images", original.accuracy, ours.accuracy)
    row("sha256 of the model", original.model[:12], ours.model[:12])
    times("processor time", *([run.run.seconds for run in runs[which]] for which in ("original", "ours")))
    peaks = [max(run.run.peak_bytes for run in runs[which]) for which in ("original", "ours")]
    row("peak memory of the process", *(f"{peak / 2**20:.1f} MiB" for peak in peaks))
    same = all(run.files == original.files for side in runs.values() for run in side)
    return same, sum(ours.run.calls.values())


def images(caffe: Caffe, library: Path, folder: Path) -> None:
    """Compares a workload that makes memory anew all the time."""
    seconds: dict[str, list[float]] = {"original": [], "ours": []}
    sums = set()
    for which in ORDER:
        run = caffe.python(folder, "pycaffe_images.py", "5", preload=library if which == "ours" else None)
        assert run.status == 0, f"pycaffe {run.ending()}"
        lines = [line.split() for line in run.out.splitlines()]
        seconds[which] += [float(line[0]) for line in lines]
        sums |= {line[1] for line in lines}
    assert len(sums) == 1, f"the results differ: {sums}"
    print("\nA net made anew for each batch of images, with blobs of 44 MiB")
    times("processor time", seconds["original"], seconds["ours"])


def out_of_memory(caffe: Caffe, library: Path, folder: Path) -> None:
    """Shows how a process ends that asks for more memory than it may have, and how it goes on."""
    program = ("pycaffe_out_of_memory.py", "address-space")
    print("\nA blob of 8 GiB under a limit on memory, in pycaffe")
    died = caffe.python(folder, *program)
    words = [line.strip() for line in died.err.splitlines() if "Check failed" in line]
    print(f"  Caffe's own    the process {died.ending().partition(':')[0]}: {words[-1].partition('] ')[2] if words else ''}")
    lived = caffe.python(folder, *program, preload=library, settings={"SYNCEDMEM_ON_ERROR": "throw"})
    assert lived.status == 0, f"on the library pycaffe {lived.ending()}"
    print("  libsyncedmem   " + "\n                 ".join(lived.out.splitlines()[1:]))


def main() -> int:
    """Runs the demonstration; 1 if the models differ or no call reached the library."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--iterations", type=int, default=ITERATIONS)
    parser.add_argument("--keep", type=Path, required=True)
    options = parser.parse_args()
    library = options.library.resolve()
    with tempfile.TemporaryDirectory(prefix="demo-") as name:
        folder = Path(name)
        prepare(folder, options.iterations)
        caffe = Caffe()
        try:
            same, called = training(caffe, library, folder, options.keep)
        except (AssertionError, Missing) as reason:
            print(f"demo: {reason}", file=sys.stderr)
            return 1
        failed = False
        for part in (images, out_of_memory):
            try:
                part(caffe, library, folder)
            except Missing as reason:
                print(f"\nleft out: {reason}")
            except AssertionError as reason:
                print(f"\ndemo: {reason}", file=sys.stderr)
                failed = True
    print()
    print(f"The models are {'identical, byte for byte' if same else 'DIFFERENT'}.")
    print(f"{called} SyncedMemory calls of this unmodified Caffe reached the library.")
    print(f"The trained net and its solver's state: {options.keep.name}/demo.caffemodel, {options.keep.name}/demo.solverstate")
    return 0 if same and called and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
