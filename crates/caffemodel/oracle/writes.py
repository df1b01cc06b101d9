"""Compares what is read from model files with what Caffe and protobuf read (checks.py), and files that the crate writes with what
protobuf's Python package makes of the same changes; and lets Caffe load them.

Started by `tests/models/run` in Debian's Python with pycaffe. Each check prints one line; the last line counts them.
"""

import argparse
import random
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import checks
from checks import Context, caffe, caffe_pb2, dims, fill, numpy
from messages import C3D, NVIDIA
from training import trained

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


class Writer(Context):
    """The programs that write, beside those that read."""

    def __init__(self, library: str, upgrade: str, edit: str, command: str, folder: Path) -> None:
        super().__init__(library, upgrade, folder)
        self.edit, self.command = edit, command

    def write(self, jobs: list) -> list:
        """Writes files: each job is (old, new, lines); returns a sentence for each, `ok` if it was written."""
        lines = [line for old, new, changes in jobs for line in (f"F {old} {new}", *changes, "W")]
        run = subprocess.run([self.edit], input="\n".join(lines), check=True, capture_output=True, text=True, env={})
        said = run.stdout.splitlines()
        assert len(said) == len(jobs), f"{len(jobs)} files, {len(said)} lines"
        return said

    def model(self, *arguments) -> None:
        """Runs `syncedmem model`."""
        subprocess.run([self.command, "model", *map(str, arguments)], check=True, capture_output=True, env={})


def replacement(layer: int, blob: int, part: str, kind: str, values) -> str:
    """The line that replaces an array."""
    return f"R {layer} {blob} {part} {kind} {numpy.asarray(values, DTYPES[kind]).tobytes().hex()}"


class Changes:
    """A change of a blob, made to protobuf's message and said in lines."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.lines = chance, []

    def values(self, count: int) -> list:
        """Numbers that every type can hold."""
        return [self.chance.randrange(-1000, 1000) / 8 for _ in range(count)]

    def replace(self, message, at: tuple, part: str, kind: str, count: int) -> None:
        """Replaces data or diff, stored as doubles or floats."""
        values = self.values(count)
        for name in (part, f"double_{part}"):
            message.ClearField(name)
        getattr(message, part if kind == "F32" else f"double_{part}").extend(values)
        self.lines.append(replacement(*at, part, kind, values))

    def change(self, message, at: tuple) -> None:
        """Any change of a blob that has a sound count."""
        count = max(len(message.double_data), len(message.data))
        has_diff = len(message.diff) or len(message.double_diff)
        if self.chance.randrange(2):
            shape = [self.chance.randrange(1, 4) for _ in range(self.chance.randrange(6))]
            count = int(numpy.prod(shape))
            was_legacy = message.HasField("num")
            for name in ("num", "channels", "height", "width", "shape"):
                message.ClearField(name)
            if was_legacy and len(shape) == 4:
                message.num, message.channels, message.height, message.width = shape
            else:
                message.shape.SetInParent()
                message.shape.dim.extend(shape)
            self.lines.append(f"S {at[0]} {at[1]} {','.join(map(str, shape))}")
        self.replace(message, at, "data", self.chance.choice(("F32", "F64")), count)
        if has_diff and self.chance.randrange(2):
            self.lines.append(f"X {at[0]} {at[1]}")
            message.ClearField("diff")
            message.ClearField("double_diff")
        elif has_diff or not self.chance.randrange(3):
            self.replace(message, at, "diff", self.chance.choice(("F32", "F64")), count)


def random_net(chance: random.Random):
    """A net of one generation, and its blobs with their places."""
    net = caffe_pb2.NetParameter(name="net")
    generation, blobs = chance.randrange(3), []
    for layer in range(chance.randrange(1, 4)):
        if generation == 2:
            holder = net.layer.add(name=f"layer{layer}", type="Scale", bottom=["x"], top=["x"])
        else:
            added = net.layers.add(bottom=["x"], top=["x"])
            holder = added.layer if generation == 0 else added
            holder.name, holder.type = f"layer{layer}", "conv" if generation == 0 else 14
        for blob in range(chance.randrange(4)):
            count = chance.randrange(5)
            kind = chance.choice(({"shape": [count]}, {"legacy": [1, 1, 1, count]}))
            message = holder.blobs.add()
            fill(message, [], **kind)
            (message.double_data if chance.randrange(2) else message.data).extend([layer] * count)
            if not chance.randrange(3):
                message.diff.extend([1] * count)
            blobs.append((message, (layer, blob)))
    return net, blobs


def random_edits_are_as_protobuf_makes_them(context: Writer) -> str:
    """nets of all generations with random changes: the messages that protobuf makes of the same changes"""
    chance = random.Random(17)
    jobs, expected = [], []
    for number in range(600):
        net, blobs = random_net(chance)
        old = context.file(f"random_{number}.caffemodel", net.SerializeToString())
        changes = Changes(chance)
        for message, at in blobs:
            if chance.randrange(2):
                changes.change(message, at)
        jobs.append((old, old.with_suffix(".new"), changes.lines))
        expected.append(net)
    for job, net, said in zip(jobs, expected, context.write(jobs)):
        assert said == "ok", f"{job}: {said}"
        found = caffe_pb2.NetParameter()
        found.ParseFromString(job[1].read_bytes())
        assert found == net, f"{job[2]}: {found} is not {net}"
    return f"{len(jobs)} files, {sum(len(lines) for _, _, lines in jobs)} changes"


def other_caffes_keep_their_own_fields(context: Writer) -> str:
    """NVIDIA's bytes and C3D's dimensions stay what they are"""
    net = NVIDIA["Net"](name="nvidia")
    for kind, number in (("F16", 2), ("F64", 0), ("F32", 1)):
        blob = net.layer.add(name=kind, type="Scale").blobs.add(raw_data_type=number)
        blob.raw_data = numpy.zeros(3, DTYPES[kind]).tobytes()
        blob.shape.dim.extend([3])
    old = context.file("to_write_nvidia.caffemodel", net.SerializeToString())
    lines = []
    for layer, (kind, blob) in enumerate(zip(("F16", "F64", "F32"), (layer.blobs[0] for layer in net.layer))):
        lines.append(replacement(layer, 0, "data", kind, [1.5, -2, 0]))
        blob.raw_data = numpy.array([1.5, -2, 0], DTYPES[kind]).tobytes()
    vector = C3D["Vector"]()
    blob = vector.blobs.add(num=1, channels=1, length=1, height=1, width=2, data=[0, 0])
    listed = context.file("to_write_c3d", vector.SerializeToString())
    blob.length, blob.data[:] = 2, [1, 2, 3, 4]
    changes = ["S 0 0 1,1,2,1,2", replacement(0, 0, "data", "F32", [1, 2, 3, 4])]
    jobs = [(old, old.with_suffix(".new"), lines), (listed, listed.with_suffix(".new"), changes)]
    for job, message, said in zip(jobs, (net, vector), context.write(jobs)):
        assert said == "ok", said
        found = type(message)()
        found.ParseFromString(job[1].read_bytes())
        assert found == message, f"{found} is not {message}"
    return "4 blobs"


def caffe_loads_what_was_written(context: Writer) -> str:
    """a trained model with other values: copy_from gives pycaffe those"""
    folder = trained(context.folder / "trained")
    old, new = folder / "small_iter_5.caffemodel", context.folder / "written.caffemodel"
    net = caffe.Net(str(folder / "net.prototxt"), caffe.TEST)
    ours = context.api.file(old)
    lines, expected = [], {}
    for index, layer in enumerate(ours.layers):
        for blob, found in enumerate(layer.blobs):
            values = numpy.arange(found.data.size, dtype="<f4") / 7 + index
            # Doubles too: Caffe rounds them when it reads them.
            kind = "F64" if index % 2 else "F32"
            lines.append(replacement(index, blob, "data", kind, values))
            expected[layer.name.decode(), blob] = values
    assert context.write([(old, new, lines)]) == ["ok"]
    net.copy_from(str(new))
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
    original, copy = trained(context.folder / "trained"), context.folder / "rewritten"
    shutil.copytree(original, copy)
    for name in ("small_iter_5.caffemodel", "small_iter_5.solverstate"):
        old, zeros = original / name, context.folder / f"zeros_{name}"
        ours = context.api.file(old)
        lines = [
            replacement(index, blob, "data", "F32", numpy.zeros(found.data.size))
            for index, layer in enumerate(ours.layers)
            for blob, found in enumerate(layer.blobs)
        ]
        assert context.write([(old, zeros, lines)]) == ["ok"]
        context.model("export", old, "--to", "npz", "-o", context.folder / "values.npz")
        context.model("import", context.folder / "values.npz", "--from", "npz", "--like", zeros, "-o", copy / name)
        assert (copy / name).read_bytes() == old.read_bytes() != zeros.read_bytes()
    expected, found = losses(original, 6), losses(copy, 6)
    assert expected == found and len(set(expected)) > 3, f"{expected}, {found}"
    return f"losses {expected[0]} to {expected[-2]}"


def a_mean_that_was_written_is_read_by_caffe(context: Writer) -> str:
    """a .binaryproto with another shape and other values"""
    blob = caffe.io.array_to_blobproto(numpy.zeros((1, 3, 2, 2), "f4"))
    old = context.file("to_write.binaryproto", blob.SerializeToString())
    values = numpy.arange(3 * 4 * 4, dtype="f4")
    new = old.with_suffix(".new")
    said = context.write([(old, new, ["S 0 0 1,3,4,4", replacement(0, 0, "data", "F32", values)])])
    assert said == ["ok"], said
    blob.ParseFromString(new.read_bytes())
    assert dims(blob) == [1, 3, 4, 4]
    assert caffe.io.blobproto_to_array(blob).astype("f4").tobytes() == values.tobytes()
    return "1 blob"


CHECKS = (
    random_edits_are_as_protobuf_makes_them,
    other_caffes_keep_their_own_fields,
    caffe_loads_what_was_written,
    training_goes_on_as_if_nothing_had_been_written,
    a_mean_that_was_written_is_read_by_caffe,
)


def main() -> int:
    """Runs the checks."""
    options = argparse.ArgumentParser(description=__doc__)
    for name in ("library", "upgrade", "edit", "command"):
        options.add_argument(f"--{name}", required=True)
    options.add_argument("--files", required=True, type=Path, help="the folder for the files that are written, which stay")
    chosen = options.parse_args()
    chosen.files.mkdir()
    context = Writer(chosen.library, chosen.upgrade, chosen.edit, chosen.command, chosen.files)
    passed = failed = 0
    for check in checks.CHECKS + CHECKS:
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
