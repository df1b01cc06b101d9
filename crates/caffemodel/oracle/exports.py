"""Reads what `syncedmem model export` has written with NumPy and with safetensors' own package, and compares the arrays; and lets
`syncedmem model import` read what those have written.

Started by `tests/models/run` with the files that checks.py has left.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file

CAFFE2 = "init_net.pb"  # Such files are not written.
FILES = (
    "trained/small_iter_5.caffemodel",
    "trained/small_iter_5.solverstate",
    "v1.caffemodel",
    "double.caffemodel",
    "nvidia.caffemodel",
    "c3d.caffemodel",
    "mean.binaryproto",
    CAFFE2,
)


def exported(command: str, path: Path, kind: str) -> Path:
    """The file that the command makes of a model."""
    to = path.with_name(f"{path.name}.{kind}")
    subprocess.run([command, "model", "export", path, "--to", kind, "--diffs", "-o", to], check=True, capture_output=True)
    return to


def inspected(command: str, path: Path) -> dict:
    """What the command says of a model."""
    run = subprocess.run([command, "model", "inspect", "--json", "--ranges", path], check=True, capture_output=True)
    return json.loads(run.stdout)


def check(command: str, path: Path) -> str:
    """Both formats have the same arrays, and they are those that `inspect` has found."""
    about = inspected(command, path)
    expected = {}
    for layer in about["layers"]:
        for number, blob in enumerate(layer["blobs"]):
            name = layer["name"] if about["kind"] in ("blob", "Caffe2 net") else f"{layer['name']}.{number}"
            for part in ("data", "diff"):
                if part in blob:
                    expected[name + (".diff" if part == "diff" else "")] = (blob["shape"], blob[part])
    with numpy.load(exported(command, path, "npz")) as archive:
        npz = {name: archive[name] for name in archive.files}
    with safe_open(exported(command, path, "safetensors"), framework="numpy") as tensors:
        safe = {name: tensors.get_tensor(name) for name in tensors.keys()}
    assert expected and set(npz) == set(safe) == set(expected), f"{sorted(npz)}, {sorted(safe)}, {sorted(expected)}"
    for name, (shape, found) in expected.items():
        for array in (npz[name], safe[name]):
            assert list(array.shape) == shape and array.dtype == found["type"], f"{name}: {array.shape} {array.dtype}"
            finite = array[numpy.isfinite(array)]
            assert not finite.size or (finite.min(), finite.max()) == (found["min"], found["max"]), name
            assert numpy.isnan(array).sum() == found["nan"] and numpy.isinf(array).sum() == found["infinite"], name
        assert npz[name].tobytes() == safe[name].tobytes(), name
    return f"{len(expected)} arrays"


def reimport(command: str, path: Path) -> str:
    """Arrays that NumPy has changed and written, and safetensors too, are those of the model that is made of them."""
    with numpy.load(exported(command, path, "npz")) as archive:
        arrays = {name: numpy.ascontiguousarray(archive[name] / 2 + 1, archive[name].dtype) for name in archive.files}
    new = path.with_name(f"new_{path.name}")
    writers = {
        "npz": [lambda to: numpy.savez(to, **arrays), lambda to: numpy.savez_compressed(to, **arrays)],
        "safetensors": [lambda to: save_file(arrays, to)],
    }
    count = 0
    for kind, all_of_kind in writers.items():
        for write in all_of_kind:
            given = path.with_name(f"given.{kind}")
            write(given)
            arguments = [given, "--from", kind, "--like", path, "-o", new]
            subprocess.run([command, "model", "import", *arguments], check=True, capture_output=True)
            with numpy.load(exported(command, new, "npz")) as archive:
                assert set(archive.files) == set(arrays), f"{archive.files}"
                for name, array in arrays.items():
                    found = archive[name]
                    assert found.dtype == array.dtype and found.shape == array.shape, name
                    assert found.tobytes() == array.tobytes(), name
                    count += 1
    return f"{count} arrays"


def main() -> int:
    """Checks each file."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--command", required=True)
    options.add_argument("--files", required=True, type=Path)
    chosen = options.parse_args()
    failed = 0
    jobs = [(name, "as npz and as safetensors", check) for name in FILES]
    jobs += [(name, "with values of NumPy's and of safetensors' own files", reimport) for name in FILES if name != CAFFE2]
    for name, what, run in jobs:
        try:
            print(f"ok - {name} {what}: {run(chosen.command, chosen.files / name)}")
        except (AssertionError, OSError, subprocess.CalledProcessError) as error:
            failed += 1
            print(f"not ok - {name} {what}: {error}{getattr(error, 'stderr', '')}")
    print(f"exports: {len(jobs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
