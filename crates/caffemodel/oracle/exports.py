"""What `syncedmem model export` writes, read by NumPy and by safetensors' own package; and what these write, imported."""

import zipfile
from pathlib import Path

import numpy
import reads
from checks import caffe
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


PYTORCH = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 3 dim: 4 dim: 1 dim: 1 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 6 kernel_size: 1 group: 2 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "up" type: "Deconvolution" bottom: "conv" top: "up"
  convolution_param { num_output: 4 kernel_size: 1 group: 2 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "pr" type: "PReLU" bottom: "up" top: "pr" prelu_param { channel_shared: true } }
layer { name: "gated" type: "Scale" bottom: "pr" bottom: "pr" top: "gated"
  scale_param { axis: 0 bias_term: true bias_filler { type: "gaussian" std: 1 } } }
layer { name: "fc" type: "InnerProduct" bottom: "gated" top: "fc"
  inner_product_param { num_output: 5 transpose: true weight_filler { type: "gaussian" std: 1 } bias_filler { type: "gaussian" std: 1 } } }
"""


def weights_under_pytorchs_names_compute_what_caffe_computes(context) -> str:
    """a net with groups, transposed and shared weights and a bias alone, computed with the shapes that PyTorch's modules have"""
    folder = context.folder / "pytorch"
    folder.mkdir()
    (folder / "net.prototxt").write_text(PYTORCH)
    caffe.set_random_seed(1)
    net = caffe.Net(str(folder / "net.prototxt"), caffe.TEST)
    data = numpy.random.RandomState(0).randn(3, 4).astype("f4")
    net.blobs["data"].data[...] = data.reshape(3, 4, 1, 1)
    expected = net.forward()["fc"]
    net.save(str(folder / "net.caffemodel"))
    context.model("export", folder / "net.caffemodel", "--to", "npz", "--names", "torch")
    w = loaded(folder / "net.npz")
    # Conv2d: out, in / groups; ConvTranspose2d: in, out / groups.
    conv = numpy.concatenate([data[:, 2 * g : 2 * g + 2] @ w["conv.weight"][3 * g : 3 * g + 3, :, 0, 0].T for g in (0, 1)], 1) + w["conv.bias"]
    up = numpy.concatenate([conv[:, 3 * g : 3 * g + 3] @ w["up.weight"][3 * g : 3 * g + 3, :, 0, 0] for g in (0, 1)], 1) + w["up.bias"]
    assert w["pr.weight"].shape == (1,)
    pr = numpy.where(up > 0, up, w["pr.weight"] * up)
    gated = pr * pr + w["gated.bias"].reshape(3, 4)
    found = gated @ w["fc.weight"].T + w["fc.bias"]
    assert abs(found - expected).max() < 1e-4 * abs(expected).max(), (found, expected)
    return f"{len(w)} arrays"


CHECKS = (
    exports_are_read_by_numpy_and_safetensors,
    imports_take_what_numpy_and_safetensors_write,
    weights_under_pytorchs_names_compute_what_caffe_computes,
)
