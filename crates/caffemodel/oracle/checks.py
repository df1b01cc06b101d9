"""What the library reads, beside what Caffe's own programs and protobuf's Python package read: the first half of writes.py."""

import os
import random
import subprocess
import warnings
from pathlib import Path

os.environ.setdefault("GLOG_minloglevel", "2")

import caffe  # noqa: E402
import numpy  # noqa: E402
import reads  # noqa: E402
from caffe.proto import caffe_pb2  # noqa: E402
from google.protobuf.message import DecodeError  # noqa: E402
from training import trained  # noqa: E402

V0_TYPES = (
    "accuracy bnll concat conv data dropout euclidean_loss flatten hdf5_data hdf5_output im2col images infogain_loss "
    "innerproduct lrn multinomial_logistic_loss pool relu sigmoid softmax softmax_loss split tanh window_data"
).split()


class Context:
    """A folder and Caffe's tool."""

    def __init__(self, upgrade: str, folder: Path) -> None:
        self.upgrade, self.folder = upgrade, folder

    def file(self, name: str, contents: bytes) -> Path:
        """Writes a file."""
        path = self.folder / name
        path.write_bytes(contents)
        return path

    def read(self, name: str, contents: bytes) -> reads.File:
        """What the library reads from a file of these contents."""
        return reads.file(self.file(name, contents))

    def upgraded(self, net: caffe_pb2.NetParameter) -> caffe_pb2.NetParameter:
        """The net as Caffe's own tool upgrades it."""
        old, new = self.file("old.caffemodel", net.SerializeToString()), self.folder / "new.caffemodel"
        subprocess.run([self.upgrade, old, new], check=True, stderr=subprocess.DEVNULL)
        result = caffe_pb2.NetParameter()
        result.ParseFromString(new.read_bytes())
        return result


def fill(blob, values, shape=None, legacy=None):
    """Gives a blob of floats its values and its dimensions."""
    blob.data.extend(values)
    if shape is not None:
        blob.shape.dim.extend(shape)
    if legacy is not None:
        for name, dim in zip(("num", "channels", "height", "width"), legacy):
            setattr(blob, name, dim)


def dims(blob) -> list:
    """A blob's dimensions, as Caffe takes them."""
    names = ("num", "channels", "height", "width")
    if any(blob.HasField(name) for name in names):
        return [getattr(blob, name) for name in names]
    return list(blob.shape.dim)


def check_blob(ours, theirs) -> None:
    """The same shape, and the same bytes, or refused for a count that Caffe refuses too."""
    assert ours.shape == dims(theirs), f"{ours.shape} is not {dims(theirs)}"
    doubles, floats = theirs.double_data, theirs.data
    expected = numpy.array(doubles, "<f8") if len(doubles) else numpy.array(floats, "<f4")
    if ours.data is None:
        sound = all(dim >= 0 for dim in ours.shape) and numpy.prod([float(dim) for dim in ours.shape]) == len(expected)
        diffs = [len(diff) for diff in (theirs.double_diff, theirs.diff) if len(diff)][:1]
        assert not sound or any(count != len(expected) for count in diffs) or len(ours.shape) > 32, ours.problem
        return
    assert ours.data.tobytes() == expected.tobytes(), "other values"


def check_layers(ours: reads.File, net: caffe_pb2.NetParameter) -> int:
    """The same layers, in order: names, types and blobs."""
    assert not ours.error, ours.error
    # The tool makes an Input of the net's inputs.
    theirs = [layer for layer in net.layer if layer.type != "Input"]
    layers = [layer for layer in ours.layers if layer.type != "Input"]
    named = [(layer.name, layer.type) for layer in layers]
    assert named == [(layer.name, layer.type) for layer in theirs], f"{named}"
    for our, their in zip(layers, theirs):
        assert len(our.blobs) == len(their.blobs), our.name
        for one, other in zip(our.blobs, their.blobs):
            check_blob(one, other)
    return sum(len(layer.blobs) for layer in theirs)


def a_trained_model_has_the_arrays_that_pycaffe_has(context: Context) -> str:
    """a model that Caffe trained: every array and gradient, byte for byte as pycaffe has it"""
    folder = trained(context.folder / "trained")
    path = folder / "small_iter_5.caffemodel"
    net = caffe.Net(str(folder / "net.prototxt"), str(path), caffe.TEST)
    ours = reads.file(path)
    assert not ours.error, ours.error
    found = {layer.name: layer.blobs for layer in ours.layers if layer.blobs}
    assert list(found) == list(net.params), f"{list(found)}"
    count = 0
    for name, params in net.params.items():
        assert len(found[name]) == len(params), name
        for blob, param in zip(found[name], params):
            assert blob.shape == list(param.shape), name
            assert blob.data.tobytes() == param.data.astype("<f4").tobytes(), name
            count += blob.data.size
    saved = caffe_pb2.NetParameter()
    saved.ParseFromString(path.read_bytes())
    check_layers(ours, saved)
    gradients = [blob.diff for layer in saved.layer for blob in layer.blobs]
    for blob, diff in zip(ours.blobs(), gradients):
        assert blob.diff.tobytes() == numpy.array(diff, "<f4").tobytes()
    return f"{len(found)} layers with {count} values"


def a_solver_state_is_as_protobuf_has_it(context: Context) -> str:
    """the state of its solver: iteration, step, name and history"""
    path = trained(context.folder / "trained") / "small_iter_5.solverstate"
    theirs = caffe_pb2.SolverState()
    theirs.ParseFromString(path.read_bytes())
    ours = reads.file(path)
    assert ours.state == (theirs.iter, theirs.current_step, theirs.learned_net), ours.state
    assert theirs.iter == 5 and theirs.current_step > 0 and len(theirs.history) > 10
    blobs = ours.blobs()
    assert len(blobs) == len(theirs.history)
    for one, other in zip(blobs, theirs.history):
        check_blob(one, other)
    return f"{len(blobs)} blobs of history"


def a_mean_image_is_as_pycaffe_reads_it(context: Context) -> str:
    """a .binaryproto of one blob as caffe.io reads it, and one of several"""
    values = numpy.arange(3 * 4 * 5, dtype="f4") / 7
    blob = caffe.io.array_to_blobproto(values.reshape(1, 3, 4, 5))
    ours = context.read("mean.binaryproto", blob.SerializeToString())
    array = caffe.io.blobproto_to_array(blob)
    assert ours.kind == "BLOB" and ours.blobs()[0].shape == list(array.shape)
    assert ours.blobs()[0].data.tobytes() == array.astype("<f4").tobytes()
    vector = caffe_pb2.BlobProtoVector()
    vector.blobs.extend([blob, blob])
    several = context.read("several.binaryproto", vector.SerializeToString())
    assert several.kind == "BLOBS" and len(several.blobs()) == 2
    check_blob(several.blobs()[1], blob)
    return "3 blobs"


def every_type_of_v1_is_upgraded_as_caffes_tool_does(context: Context) -> str:
    """a V1 net: every type, and every blob, as upgrade_net_proto_binary upgrades it"""
    net = caffe_pb2.NetParameter(name="v1", input=["data"], input_dim=[1, 3, 8, 8])
    for name, number in sorted(caffe_pb2.V1LayerParameter.LayerType.items(), key=lambda item: item[1]):
        layer = net.layers.add(name=f"of_{name}", type=number, bottom=["data"], top=["data"])
        fill(layer.blobs.add(), [number, 2, 3, 4, 5, 6], legacy=[1, 1, 2, 3])
        fill(layer.blobs.add(), [7, 8], shape=[2])
    net.layers.add(name="bare")
    upgraded = context.upgraded(net)
    count = check_layers(context.read("v1.caffemodel", net.SerializeToString()), upgraded)
    check_layers(context.read("v2.caffemodel", upgraded.SerializeToString()), upgraded)
    return f"{len(upgraded.layer)} layers, {count} blobs"


def every_type_of_v0_is_upgraded_as_caffes_tool_does(context: Context) -> str:
    """a V0 net: every type, padding layers, and every blob, as upgrade_net_proto_binary upgrades it"""
    net = caffe_pb2.NetParameter(name="v0", input=["data"], input_dim=[1, 3, 8, 8])
    padding = net.layers.add(bottom=["data"], top=["padded"])
    padding.layer.name, padding.layer.type, padding.layer.pad = "pad1", "padding", 2
    for number, kind in enumerate(["conv"] + V0_TYPES):
        layer = net.layers.add(bottom=["padded" if number == 0 else "data"], top=["data"])
        layer.layer.name, layer.layer.type = f"layer_{number}", kind
        fill(layer.layer.blobs.add(), [number, 2, 3, 4, 5, 6], legacy=[1, 1, 2, 3])
    upgraded = context.upgraded(net)
    assert len(upgraded.layer) == len(V0_TYPES) + 2, "an Input, and no padding layer"
    count = check_layers(context.read("v0.caffemodel", net.SerializeToString()), upgraded)
    return f"{len(upgraded.layer)} layers, {count} blobs"


def doubles_and_lists_that_are_not_packed_are_as_protobuf_has_them(context: Context) -> str:
    """double data, both kinds of data, both kinds of dimensions, and lists that are not packed"""
    net = caffe_pb2.NetParameter()
    layer = net.layer.add(name="a", type="Scale")
    double = layer.blobs.add()
    double.double_data.extend([0.1, -2.5e300, float("nan")])
    double.double_diff.extend([1, 2, 3])
    double.shape.dim.extend([3, 1])
    both = layer.blobs.add()
    fill(both, [1, 2], shape=[2])
    both.double_data.extend([3, 4])
    fill(layer.blobs.add(), [], shape=[0, 5])
    # One legacy dimension is enough, and the others are 0.
    fill(layer.blobs.add(), [1, 2], shape=[7], legacy=[1, 1, 1, 2])
    fill(layer.blobs.add(), [], shape=[7], legacy=[0, 3])
    check_layers(context.read("double.caffemodel", net.SerializeToString()), net)
    # protobuf reads both ways of writing a list.
    unpacked = b"".join(b"\x2d" + numpy.float32(value).tobytes() for value in range(5)) + b"\x3a\x03\x0a\x01\x05"
    blob = caffe_pb2.BlobProto()
    blob.ParseFromString(unpacked)
    check_blob(context.read("unpacked.binaryproto", unpacked).blobs()[0], blob)
    return "6 blobs"


def field(number: int, contents: bytes) -> bytes:
    """A field of bytes, of a small number and length."""
    return bytes([number << 3 | 2, len(contents)]) + contents


def odd_nets() -> list:
    """Nets that no program writes, and that protobuf reads."""
    # A group with all types of fields and a group in it, the greatest number of a field, and a number with another type than the net's.
    junk = b"\xfb\x01\x08\x01\x13\x14\x1a\x01x\x25\0\0\x80\x3f\x29" + b"\0" * 8 + b"\xfc\x01"
    junk += b"\xf8\xff\xff\xff\x0f" + b"\xff" * 9 + b"\x01" + b"\x09" + b"\0" * 8
    data = field(5, numpy.array([1, 2], "<f4").tobytes())
    blobs = [
        junk + field(7, field(1, b"\x02")) + data + junk,
        # Shapes are merged, and of a number that occurs twice the last counts.
        field(7, field(1, b"\x02")) + field(7, b"\x08\x01") + data,
        b"\x08\x09\x08\x01\x10\x01\x18\x01\x20\x02" + data,
    ]
    layers = b"".join(junk + field(7, blob) for blob in blobs)
    net = b"\xa2\x06" + bytes([len(layers) & 0x7F | 0x80, len(layers) >> 7]) + layers
    # A length and a tag of more bytes than they need.
    return [junk + field(1, b"first") + field(1, b"last") + net, b"\x8a\0\x85\x80\x80\x80\0hello" + net + junk]


def mutants() -> list:
    """Damaged nets: some that protobuf still reads, some that it does not."""
    net = caffe_pb2.NetParameter(name="net")
    layer = net.layer.add(name="a", type="Scale")
    fill(layer.blobs.add(), [1, 2, 3], shape=[3])
    fill(layer.blobs.add(), [4, 5], legacy=[1, 1, 1, 2])
    old = caffe_pb2.NetParameter(name="old")
    fill(old.layers.add(name="b", type=14).blobs.add(), [6, 7], shape=[2, 1])
    sound = [net.SerializeToString(), old.SerializeToString()]
    chance = random.Random(1)
    made = []
    for _ in range(4000):
        file = bytearray(chance.choice(sound))
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(file))
            what = chance.randrange(5)
            if what == 0:
                file[at] ^= 1 << chance.randrange(8)
            elif what == 1:
                file[at] = chance.randrange(256)
            elif what == 2:
                del file[at : at + chance.randrange(4)]
            elif what == 3:
                file[at:at] = file[at : at + chance.randrange(8)]
            else:
                file[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
        made.append(bytes(file))
    return made


def what_protobuf_reads_is_read_the_same(context: Context) -> str:
    """odd and damaged nets: what protobuf reads is read, with the same layers and values"""
    files = odd_nets() + mutants()
    read = compared = 0
    for number, file in enumerate(files):
        path = context.file(f"mutant_{number}.caffemodel", file)
        ours = reads.file(path)
        theirs = caffe_pb2.NetParameter()
        # A group that ends and has not begun is a warning, and nothing behind it is read.
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                theirs.ParseFromString(file)
            except DecodeError:
                assert number > 1, "odd nets are no damaged ones"
                continue
        if warned:
            continue
        read += 1
        assert not ours.error, f"{path.name}: {ours.error}"
        # Of damaged names C's ends at a NUL, and protobuf's may be no text.
        assert ours.name == theirs.name or number > 1, path.name
        # Layers of V0 and of both fields are upgraded, or refused, by Caffe.
        if any(layer.HasField("layer") for layer in theirs.layers) or (theirs.layers and theirs.layer):
            continue
        layers = list(theirs.layers) + list(theirs.layer)
        assert len(ours.layers) == len(layers), path.name
        for our, their in zip(ours.layers, layers):
            assert len(our.blobs) == len(their.blobs), path.name
            for one, other in zip(our.blobs, their.blobs):
                # A number in field 5 of a blob is C3D's, which protobuf does not know here.
                if len(one.shape) != 5:
                    check_blob(one, other)
                    compared += 1
    assert 400 < read < len(files) - 400 and compared > 400, f"{read} of {len(files)}, {compared} blobs"
    return f"{read} of {len(files)} files are read by protobuf, {compared} blobs compared"


CHECKS = (
    a_trained_model_has_the_arrays_that_pycaffe_has,
    a_solver_state_is_as_protobuf_has_it,
    a_mean_image_is_as_pycaffe_reads_it,
    every_type_of_v1_is_upgraded_as_caffes_tool_does,
    every_type_of_v0_is_upgraded_as_caffes_tool_does,
    doubles_and_lists_that_are_not_packed_are_as_protobuf_has_them,
    what_protobuf_reads_is_read_the_same,
)
