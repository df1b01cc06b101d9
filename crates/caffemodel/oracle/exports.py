"""What `syncedmem model export` writes, read by NumPy and by safetensors' own package; and what these write, imported."""

import zipfile
from pathlib import Path

import numpy
import reads
from safetensors.numpy import load_file, save_file

# Those that checks.py has left.
FILES = (
    "trained/small_iter_5.caffemodel",
    "trained/small_iter_5.solverstate",
    "v1.caffemodel",
    "double.caffemodel",
    "mean.binaryproto",
)


def arrays_of(path: Path) -> dict:
    """The arrays of a model, by the names that `export` gives them."""
    ours, arrays = reads.file(path), {}
    for layer in ours.layers:
        for number, blob in enumerate(layer.blobs):
            name = layer.name if ours.kind == "BLOB" else f"{layer.name}.{number}"
            arrays.update({name: blob.data, **({} if blob.diff is None else {f"{name}.diff": blob.diff})})
    return arrays


def compare(found: dict, expected: dict) -> int:
    """The same names, types, shapes and bytes."""
    assert expected and set(found) == set(expected), f"{sorted(found)} are not {sorted(expected)}"
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape), name
        assert found[name].tobytes() == array.tobytes(), name
    return len(expected)


def loaded(path: Path) -> dict:
    """The arrays of an npz, whose values begin at multiples of 64 bytes, as NumPy places them."""
    with zipfile.ZipFile(path) as archive:
        heads = [archive.read(name)[8:10] for name in archive.namelist()]
        assert all((10 + int.from_bytes(head, "little")) % 64 == 0 for head in heads), heads
    return dict(numpy.load(path))


def exports_are_read_by_numpy_and_safetensors(context) -> str:
    """exports of every kind of file, as npz and as safetensors, beside what the package reads"""
    count, readers = 0, (("npz", loaded), ("safetensors", load_file))
    for path in (context.folder / name for name in FILES):
        for kind, read in readers:
            to = path.with_name(f"{path.name}.{kind}")
            context.model("export", path, "--to", kind, "--diffs", "-o", to)
            count += compare(read(to), arrays_of(path))
    return f"{count} arrays"


def imports_take_what_numpy_and_safetensors_write(context) -> str:
    """arrays that NumPy, compressed or not, and safetensors have written, in every kind of file"""
    writers = (
        ("npz", lambda to, arrays: numpy.savez(to, **arrays)),
        ("npz", lambda to, arrays: numpy.savez_compressed(to, **arrays)),
        ("safetensors", lambda to, arrays: save_file(arrays, to)),
    )
    count = 0
    for path in (context.folder / name for name in FILES):
        arrays = {name: numpy.ascontiguousarray(array / 2 + 1, array.dtype) for name, array in arrays_of(path).items()}
        for kind, write in writers:
            given, new = path.with_name(f"given.{kind}"), path.with_name(f"new_{path.name}")
            write(given, arrays)
            context.model("import", given, "--from", kind, "--like", path, "-o", new)
            count += compare(arrays_of(new), arrays)
    return f"{count} arrays"


CHECKS = (exports_are_read_by_numpy_and_safetensors, imports_take_what_numpy_and_safetensors_write)
