"""Checks of the advice on layers that could be in place: it saves the bytes that it names, and changes no result."""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any, Iterator

from checking import Checks

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench/caffe"))
import nets  # noqa: E402

SOLVER = """net: "{}" base_lr: 0.01 lr_policy: "fixed" momentum: 0.9 max_iter: 3 random_seed: 7 display: 1
test_iter: 2 test_interval: 3 snapshot_prefix: "{}" solver_mode: CPU
"""
FORWARD = """
import sys, hashlib, numpy, caffe
caffe.set_random_seed(3)
net = caffe.Net(sys.argv[1], caffe.TEST)
for _ in range(2):
    for name, output in sorted(net.forward().items()):
        print(name, output.shape, hashlib.sha256(numpy.ascontiguousarray(output).tobytes()).hexdigest())
"""


class Apart(nets.Net):
    """Layers that all have their own tops."""

    def __init__(self, *shape: int) -> None:
        super().__init__(nets.RANDOM)
        self.labelled(*shape)

    def layer(self, kind: str, parameters: str = "", in_place: bool = False) -> nets.Net:
        return super().layer(kind, parameters)

    def text(self) -> str:
        """With a loss, and probabilities in tests."""
        self.layers.append(f'name: "prob" type: "Softmax" bottom: "{self.full(5).top}" top: "prob" include {{ phase: TEST }}')
        self.loss()
        return super().text()


def behind(*kinds: str) -> str:
    """A convolution, and layers of these types behind it."""
    net = Apart(4, 3, 16, 16)
    net.convolution(8, 3)
    for kind in kinds:
        net.layer(kind)
    return net.text()


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
    net = nets.resnet50(Apart(2, 3, 64, 64)).text()
    before = Trained(checks, "apart", net)
    after = Trained(checks, "in-place", followed(net, before.advice))
    assert after.same_as(before), f"{after.results}, not {before.results}"
    layers = set(layers_of_advice(before))
    # Each blob that goes has arrays for its shape in both nets.
    more = before.peak - after.peak - before.saved()
    assert 0 <= more <= 32 * len(layers), f"{before.peak} - {after.peak}, not {before.saved()}"
    assert not after.advice, f"more advice: {after.advice}"
    assert layers == set(re.findall('name: "(.*)" type: "(?:BatchNorm|Scale|ReLU)"', net)), layers
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


RECURRENT = f"""
layer {{ name: "data" type: "Input" top: "data" top: "cont" input_param {{ shape {{ dim: 6 dim: 2 dim: 8 }} shape {{ dim: 6 dim: 2 }} }} }}
layer {{ name: "lstm" type: "LSTM" bottom: "data" bottom: "cont" top: "lstm" recurrent_param {{ num_output: 16 {nets.RANDOM} }} }}
layer {{ name: "relu" type: "ReLU" bottom: "lstm" top: "relu" }}
layer {{ name: "fc" type: "InnerProduct" bottom: "relu" top: "fc" inner_product_param {{ num_output: 4 axis: 2 {nets.RANDOM} }} }}
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
    net = Apart(4, 3, 16, 16)
    tops = {net.convolution(8, 3, pad=1).layer(kind).top for kind in TYPES}
    text = net.text()
    before = Trained(checks, "types", text)
    assert set(layers_of_advice(before)) == tops, f"{before.advice}"
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
        net = behind(*kinds)
        first, *_, last = re.findall('name: "(.*)" type: "(?:Convolution|' + "|".join(kinds) + ')"', net)
        apart = Trained(checks, f"apart{number}", net)
        assert last not in layers_of_advice(apart), f"{kinds}: {apart.advice}"
        wrong = renamed(followed(net, apart.advice), last, first)
        assert not Trained(checks, f"wrong{number}", wrong).same_as(apart), f"{kinds}: it could be in place"
    return ", ".join("-".join(kinds) for kinds in WRONG)


ALL = [
    the_layers_in_a_recurrent_layer_have_types_and_no_advice,
    a_residual_net_saves_what_the_advice_says_and_computes_the_same,
    each_type_in_place_saves_what_the_advice_says_and_computes_the_same,
    nets_that_would_compute_something_else_get_no_such_advice,
]
