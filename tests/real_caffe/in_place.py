"""Checks of the advice on layers that could be in place: it saves the bytes that it names, and changes no result."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any, Iterator, Optional

from checking import Checks

SOLVER = """net: "{}" base_lr: 0.01 lr_policy: "fixed" momentum: 0.9 max_iter: 3 random_seed: 7 display: 1
test_iter: 2 test_interval: 3 snapshot_prefix: "{}" solver_mode: CPU
"""
LEARNED = 'weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.1 }'
FORWARD = """
import sys, hashlib, numpy, caffe
caffe.set_random_seed(3)
net = caffe.Net(sys.argv[1], caffe.TEST)
for _ in range(2):
    for name, output in sorted(net.forward().items()):
        print(name, output.shape, hashlib.sha256(numpy.ascontiguousarray(output).tobytes()).hexdigest())
"""


class Net:
    """Layers with a name of their own for each top."""

    def __init__(self, batch: int, image: int) -> None:
        self._layers: list[str] = []
        shapes = f"shape {{ dim: {batch} dim: 3 dim: {image} dim: {image} }} shape {{ dim: {batch} }}"
        fillers = 'data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 1 }'
        self._layers.append(f'name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {{ {shapes} {fillers} }}')

    def add(self, kind: str, name: str, *bottoms: str, more: str = "", top: Optional[str] = None) -> str:
        """Returns the top."""
        read = " ".join(f'bottom: "{bottom}"' for bottom in bottoms)
        self._layers.append(f'name: "{name}" type: "{kind}" {read} top: "{top or name}" {more}')
        return top or name

    def convolution(self, name: str, bottom: str, outputs: int, kernel: int = 1, stride: int = 1) -> str:
        """A convolution that keeps the size but for its stride, behind it BatchNorm and Scale."""
        geometry = f"num_output: {outputs} kernel_size: {kernel} stride: {stride} pad: {kernel // 2}"
        top = self.add("Convolution", f"res{name}", bottom, more=f"convolution_param {{ {geometry} {LEARNED} }}")
        top = self.add("BatchNorm", f"bn{name}", top)
        return self.add("Scale", f"scale{name}", top, more="scale_param { bias_term: true }")

    def text(self, scores: str) -> str:
        """With a loss in training, and probabilities in tests."""
        self.add("InnerProduct", "fc", scores, more=f"inner_product_param {{ num_output: 5 {LEARNED} }}")
        self.add("SoftmaxWithLoss", "loss", "fc", "label")
        self.add("Softmax", "prob", "fc", more="include { phase: TEST }")
        return "".join(f"layer {{ {layer} }}\n" for layer in self._layers)


def residual(blocks: tuple[int, ...], batch: int = 4, image: int = 32) -> str:
    """A net like ResNet-50, of so many blocks in each stage, whose layers all have tops of their own."""
    net = Net(batch, image)
    top = net.add("ReLU", "conv1_relu", net.convolution("1", "data", 16, kernel=3))
    top = net.add("Pooling", "pool1", top, more="pooling_param { kernel_size: 3 stride: 2 }")
    for stage, count in enumerate(blocks):
        for block in range(count):
            name, width, stride = f"{stage + 2}{chr(ord('a') + block)}", 8 << stage, 2 if stage and not block else 1
            shortcut = top if block else net.convolution(f"{name}_branch1", top, width * 4, stride=stride)
            for part, (outputs, kernel) in zip("abc", ((width, 1), (width, 3), (width * 4, 1))):
                top = net.convolution(f"{name}_branch2{part}", top, outputs, kernel, stride if part == "a" else 1)
                top = net.add("ReLU", f"res{name}_branch2{part}_relu", top) if part != "c" else top
            top = net.add("ReLU", f"res{name}_relu", net.add("Eltwise", f"res{name}", shortcut, top))
    top = net.add("Pooling", "pool5", top, more="pooling_param { pool: AVE global_pooling: true }")
    return net.text(net.add("Dropout", "drop", top))


def behind(*kinds: str) -> str:
    """A convolution, and layers of these types behind it."""
    net = Net(4, 16)
    top = net.add("Convolution", "conv", "data", more=f"convolution_param {{ num_output: 8 kernel_size: 3 {LEARNED} }}")
    for number, kind in enumerate(kinds):
        top = net.add(kind, f"layer{number}", top)
    return net.text(top)


class Trained:
    """A training of a net under `syncedmem run`, and a test of it by pycaffe."""

    def __init__(self, checks: Checks, name: str, net: str) -> None:
        file, trace = checks.folder / f"{name}.prototxt", checks.folder / f"{name}.trace"
        file.write_text(net)
        (checks.folder / f"{name}-solver.prototxt").write_text(SOLVER.format(file.name, name))
        caffe = checks.caffe
        train = [caffe.part("program"), "train", f"--solver={name}-solver.prototxt"]
        run = checks.syncedmem("run", f"--trace={trace}", "--", *train)
        assert run.status == 0, f"{name}: caffe train {run.ending()}"
        self.results = re.findall(r"(?:loss|prob|Test net output #\d+: \S+) = \S+", run.err)
        assert len(self.results) > 4, run.err[-600:]
        model = checks.folder / f"{name}_iter_3.caffemodel"
        # The model has the net in it, so the files differ.
        arrays = checks.folder / f"{name}.npz"
        exported = checks.syncedmem("model", "export", str(model), "--to=npz", f"--output={arrays}")
        assert exported.status == 0, f"model export {exported.ending()}"
        self.weights = hashlib.sha256(arrays.read_bytes()).hexdigest()
        tested = caffe.run([caffe.part("python"), "-c", FORWARD, file.name], checks.folder)
        assert tested.status == 0, f"{name}: pycaffe {tested.ending()}"
        self.outputs = tested.out
        report = checks.syncedmem("report", str(trace), "--json")
        assert report.status == 0, f"report {report.ending()}"
        (self.report,) = json.loads(report.out)["processes"]
        self.peak = int(self.report["memory"]["pageable"]["peak_bytes"])
        self.advice: list[dict[str, Any]] = [each for each in self.report["advice"] if each["rule"] == "in-place"]

    def saved(self) -> int:
        """The bytes that the advice names."""
        return sum(int(each["bytes"]) for each in self.advice)

    def same_as(self, other: "Trained") -> bool:
        """Whether losses, weights and outputs are the same bit for bit."""
        return (self.results, self.weights, self.outputs) == (other.results, other.weights, other.outputs)


def renamed(net: str, old: str, new: str) -> str:
    """With another name for a blob."""
    return re.sub(rf'(bottom|top): "{re.escape(old)}"', rf'\1: "{new}"', net)


def followed(net: str, advice: list[dict[str, Any]]) -> str:
    """The net as the advice says."""
    for each in advice:
        found = re.fullmatch(r'write "([^"]+)" for ((?:"[^"]+"(?:, )?)+)', each["at"])
        assert found, each["at"]
        for old in re.findall(r'"([^"]+)"', found[2]):
            net = renamed(net, old, found[1])
    return net


def layers_of_advice(trained: Trained) -> Iterator[str]:
    for each in trained.advice:
        yield from each["made"].split(", ")


def a_residual_net_saves_what_the_advice_says_and_computes_the_same(checks: Checks) -> str:
    """layers in place, as the report advises for a net like ResNet, save the bytes that it names and change no bit of weights and outputs"""
    net = residual((2, 2))
    before = Trained(checks, "apart", net)
    after = Trained(checks, "in-place", followed(net, before.advice))
    assert after.same_as(before), f"{after.results}, not {before.results}"
    layers = set(layers_of_advice(before))
    # Each blob that goes has arrays for its shape in both nets.
    more = before.peak - after.peak - before.saved()
    assert 0 <= more <= 32 * len(layers), f"{before.peak} - {after.peak}, not {before.saved()}"
    assert before.saved() > before.peak // 5, f"{before.saved()} of {before.peak}"
    assert not after.advice, f"more advice: {after.advice}"
    assert {"bn1", "scale1", "conv1_relu", "res2a_relu", "bn3a_branch1", "drop"} <= layers, layers
    types = {group["name"]: (group["layers"], sum(group["peak_bytes"].values())) for group in before.report["types"]}
    count = len(re.findall('type: "BatchNorm"', net))
    assert types["BatchNorm"][0] == count and sum(size for _, size in types.values()) == before.peak, f"{types}"
    beginnings = {group["name"]: group["layers"] for group in before.report["beginnings"]}
    assert sum(beginnings.values()) == sum(layers for layers, _ in types.values()) and len(beginnings) < 40, f"{beginnings}"
    return f"{len(layers)} layers, {before.saved()} of {before.peak} bytes"


def timed(checks: Checks, name: str, net: str) -> str:
    """The report on `caffe time` of a net."""
    (checks.folder / f"{name}.prototxt").write_text(net)
    program = [checks.caffe.part("program"), "time", f"--model={name}.prototxt", "--iterations=1"]
    run = checks.syncedmem("run", "--", *program)
    assert run.status == 0, f"caffe time {run.ending()}"
    return run.report()


def the_example_net_says_what_its_layer_costs(checks: Checks) -> str:
    """the report on the example net names the layer that is not in place, and its bytes"""
    net = (Path(__file__).resolve().parents[2] / "examples/net.prototxt").read_text()
    before, after = timed(checks, "example", net), timed(checks, "example-in-place", renamed(net, "relu1", "conv1"))
    found = re.search(r"prototxt: in-place, possible, 1 layer, ([\d.]+) MiB to save", before)
    assert found and 'relu1: write "conv1" for "relu1"' in before and "nothing worth doing" not in before, before
    assert "in-place" not in after and "nothing worth doing" in after, after
    peaks = [re.search(r"^peak ([\d.]+) MiB of blobs", text, re.M) for text in (before, after)]
    less = float(peaks[0][1]) - float(peaks[1][1]) if peaks[0] and peaks[1] else 0
    assert abs(less - float(found[1])) < 0.11, f"{less} MiB less: {before}"
    return f"{found[1]} MiB"


RECURRENT = f"""
layer {{ name: "data" type: "Input" top: "data" top: "cont" input_param {{ shape {{ dim: 6 dim: 2 dim: 8 }} shape {{ dim: 6 dim: 2 }} }} }}
layer {{ name: "lstm" type: "LSTM" bottom: "data" bottom: "cont" top: "lstm" recurrent_param {{ num_output: 16 {LEARNED} }} }}
layer {{ name: "relu" type: "ReLU" bottom: "lstm" top: "relu" }}
layer {{ name: "fc" type: "InnerProduct" bottom: "relu" top: "fc" inner_product_param {{ num_output: 4 axis: 2 {LEARNED} }} }}
"""


def the_layers_in_a_recurrent_layer_have_types_and_no_advice(checks: Checks) -> str:
    """the net that an LSTM makes for itself counts by types of layers, and gets no advice, as no prototxt has it"""
    text = timed(checks, "recurrent", RECURRENT)
    assert "LSTMUnit, 6 layers" in text and "of an unknown type" not in text, text
    assert "in-place" not in text, text
    return ""


TYPES = ("ReLU", "ELU", "Dropout", "Sigmoid", "TanH", "Exp", "Swish", "Bias", "Scale", "PReLU", "BatchNorm")


def each_type_in_place_saves_what_the_advice_says_and_computes_the_same(checks: Checks) -> str:
    """each type of layer that the advice knows saves the bytes that it names in place, and changes no bit"""
    net, top = Net(4, 16), "data"
    for kind in TYPES:
        geometry = f"convolution_param {{ num_output: 8 kernel_size: 3 pad: 1 {LEARNED} }}"
        top = net.add(kind, f"{kind}-apart", net.add("Convolution", f"before-{kind}", top, more=geometry))
    text = net.text(top)
    before = Trained(checks, "types", text)
    assert set(layers_of_advice(before)) == {f"{kind}-apart" for kind in TYPES}, f"{before.advice}"
    after = Trained(checks, "types-in-place", followed(text, before.advice))
    assert after.same_as(before), f"{after.results}, not {before.results}"
    more = before.peak - after.peak - before.saved()
    assert 0 <= more <= 32 * len(TYPES), f"{before.peak} - {after.peak}, not {before.saved()}"
    return f"{before.saved()} of {before.peak} bytes"


# Types behind a convolution, of which the last one would compute something else in place.
WRONG = (("ReLU", "BatchNorm"), ("Sigmoid", "Bias"), ("BNLL",))


def nets_that_would_compute_something_else_get_no_such_advice(checks: Checks) -> str:
    """a layer that would change results in place is not advised about, and in place it does change them"""
    for number, kinds in enumerate(WRONG):
        net, last = behind(*kinds), f"layer{len(kinds) - 1}"
        apart = Trained(checks, f"apart{number}", net)
        assert last not in layers_of_advice(apart), f"{kinds}: {apart.advice}"
        wrong = renamed(followed(net, apart.advice), last, "conv")
        assert not Trained(checks, f"wrong{number}", wrong).same_as(apart), f"{kinds}: it could be in place"
    return ", ".join("-".join(kinds) for kinds in WRONG)


ALL = [
    the_example_net_says_what_its_layer_costs,
    the_layers_in_a_recurrent_layer_have_types_and_no_advice,
    a_residual_net_saves_what_the_advice_says_and_computes_the_same,
    each_type_in_place_saves_what_the_advice_says_and_computes_the_same,
    nets_that_would_compute_something_else_get_no_such_advice,
]
