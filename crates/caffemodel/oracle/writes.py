"""Compares what is read from model files with what Caffe and protobuf read (checks.py), and exports with what NumPy and safetensors read
(exports.py); and lets Caffe load what `syncedmem model import` writes.

Started by `tests/models/run` in Debian's Python with pycaffe. Each check prints one line; the last line counts them.
"""

import argparse
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import checks
import exports
from checks import Context, caffe, numpy, reads
from training import trained


class Writer(Context):
    """The command that writes, beside those that read."""

    def __init__(self, upgrade: str, command: str, folder: Path) -> None:
        super().__init__(upgrade, folder)
        self.command = command

    def model(self, *arguments) -> None:
        """Runs `syncedmem model`."""
        subprocess.run([self.command, "model", *map(str, arguments)], check=True, capture_output=True, env={})

    def written(self, old: Path, arrays: dict) -> Path:
        """The file with the arrays, by the names that `export` gives them, in place of its own."""
        given, new = self.folder / "given.npz", old.with_name(f"written_{old.name}")
        numpy.savez(given, **arrays)
        self.model("import", given, "--from", "npz", "--like", old, "--partial", "-o", new)
        return new


def caffe_loads_what_was_written(context: Writer) -> str:
    """a trained model with other values: copy_from gives pycaffe those"""
    folder = trained(context.folder / "trained")
    old = folder / "small_iter_5.caffemodel"
    net = caffe.Net(str(folder / "net.prototxt"), caffe.TEST)
    expected = {
        (layer.name, number): numpy.arange(blob.data.size, dtype="<f4").reshape(blob.shape) / 7 + index
        for index, layer in enumerate(reads.file(old).layers)
        for number, blob in enumerate(layer.blobs)
    }
    net.copy_from(str(context.written(old, {f"{name}.{number}": array for (name, number), array in expected.items()})))
    for (name, blob), values in expected.items():
        assert net.params[name][blob].data.tobytes() == values.tobytes(), name
    return f"{len(expected)} blobs"


def losses(folder: Path, steps: int) -> list:
    """The losses of a training that goes on from the snapshot in a folder."""
    program = (
        "import caffe\n"
        "solver = caffe.get_solver('solver.prototxt')\n"
        "solver.restore('small_iter_5.solverstate')\n"
        f"for _ in range({steps}):\n"
        "    solver.step(1)\n"
        "    print(repr(float(solver.net.blobs['loss'].data)))\n"
        "print(sum(float(abs(blob.data).sum()) for blobs in solver.net.params.values() for blob in blobs))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True)
    return run.stdout.split()


def training_goes_on_as_if_nothing_had_been_written(context: Writer) -> str:
    """training resumed from a model and a solver state that were exported, overwritten with zeros and imported again"""
    original, copy, values = trained(context.folder / "trained"), context.folder / "rewritten", context.folder / "values.npz"
    shutil.copytree(original, copy)
    for name in ("small_iter_5.caffemodel", "small_iter_5.solverstate"):
        old = original / name
        context.model("export", old, "--to", "npz", "-o", values)
        with numpy.load(values) as archive:
            zeros = context.written(old, {array: numpy.zeros_like(archive[array]) for array in archive.files})
        context.model("import", values, "--from", "npz", "--like", zeros, "-o", copy / name)
        assert (copy / name).read_bytes() == old.read_bytes() != zeros.read_bytes()
        zeros.unlink()
    expected, found = losses(original, 6), losses(copy, 6)
    assert expected == found and len(set(expected)) > 3, f"{expected}, {found}"
    return f"losses {expected[0]} to {expected[-2]}"


CHECKS = (
    caffe_loads_what_was_written,
    training_goes_on_as_if_nothing_had_been_written,
)


def main() -> int:
    """Runs the checks."""
    options = argparse.ArgumentParser(description=__doc__)
    for name in ("upgrade", "command"):
        options.add_argument(f"--{name}", required=True)
    options.add_argument("--files", required=True, type=Path, help="the folder for the files that are written")
    chosen = options.parse_args()
    chosen.files.mkdir()
    context = Writer(chosen.upgrade, chosen.command, chosen.files)
    passed = failed = 0
    for check in checks.CHECKS + CHECKS + exports.CHECKS:
        try:
            print(f"ok - {check.__doc__}: {check(context)}")
            passed += 1
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok - {check.__doc__}")
            traceback.print_exc(file=sys.stdout)
    print(f"models: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
