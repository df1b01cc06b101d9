"""Run by pycaffe: each of Caffe's layer types in its own net, and a digest of what three passes compute.

usage: pycaffe_layers.py test | train | gone | random FIRST COUNT | long ITERATIONS

`random` has random nets with these seeds instead, each tested and trained; `long` trains one of them, and prints the peak of memory in KiB.
"""

import hashlib
import resource
import sys

import caffe
import numpy

INPUTS = """
layer { name: "data" type: "DummyData" top: "data" dummy_data_param {
  shape { dim: 2 dim: 3 dim: 8 dim: 8 } data_filler { type: "uniform" min: -1 max: 1 } } }
layer { name: "label" type: "DummyData" top: "label" dummy_data_param {
  shape { dim: 2 } data_filler { type: "constant" value: 2 } } }
"""
CONVOLUTION = """convolution_param { num_output: 4 kernel_size: 3 pad: 1
  weight_filler { type: "gaussian" std: 0.2 } bias_filler { type: "constant" value: 0.1 } }"""
FULL = 'inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 0.1 } }'
# The seed of the net that is trained for long.
LONG = 5
SOFTMAX = ("loss", "SoftmaxWithLoss", "ip label", "loss", "")
# Between two convolutions, from blob `c1` to blob `x`; in place too where Caffe can do that.
IN_PLACE = "BatchNorm Bias Dropout ELU PReLU ReLU Scale Sigmoid Swish TanH".split()
BETWEEN = {
    **{kind: "" for kind in "AbsVal BNLL Concat Exp LRN MVN Pooling Power Slice Softmax Split".split()},
    **{kind: "" for kind in IN_PLACE},
    "Clip": "clip_param { min: -0.1 max: 0.1 }",
    "Deconvolution": 'convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "gaussian" std: 0.2 } }',
    "Im2col": "convolution_param { kernel_size: 3 }",
    "LRN": "lrn_param { local_size: 3 }",
    "Pooling": "pooling_param { kernel_size: 2 stride: 2 }",
    "Power": "power_param { power: 2 scale: 0.5 shift: 3 }",
    "Scale": "scale_param { bias_term: true }",
    "Tile": "tile_param { axis: 1 tiles: 2 }",
}


def source(name: str, shape: str, value: str = 'type: "constant" value: 1') -> str:
    dimensions = " ".join(f"dim: {size}" for size in shape.split())
    parameters = f"dummy_data_param {{ shape {{ {dimensions} }} data_filler {{ {value} }} }}"
    return f'layer {{ name: "{name}" type: "DummyData" top: "{name}" {parameters} }}\n'


def net(*layers: tuple[str, str, str, str, str]) -> str:
    """Each layer as its name, type, bottoms, tops and parameters."""
    text = ""
    for name, kind, bottoms, tops, parameters in layers:
        ends = "".join(f'bottom: "{blob}" ' for blob in bottoms.split()) + "".join(f'top: "{blob}" ' for blob in tops.split())
        text += f'layer {{ name: "{name}" type: "{kind}" {ends}{parameters} }}\n'
    return text


def end(blob: str, flat: bool = False) -> str:
    """From a blob to a loss."""
    full = ("ip", "InnerProduct", blob if flat else "c9", "ip", FULL)
    return net(*([] if flat else [("c9", "Convolution", blob, "c9", CONVOLUTION)]), full, SOFTMAX)


def nets() -> dict[str, str]:
    begin = INPUTS + net(("c1", "Convolution", "data", "c1", CONVOLUTION))
    two = begin + net(("c2", "Convolution", "data", "c2", CONVOLUTION))
    full = ("ip", "InnerProduct", "c1", "ip", FULL)
    full2 = ("ip2", "InnerProduct", "c1", "ip2", FULL)
    found = {kind: begin + net(("t", kind, "c1", "x", extra)) + end("x") for kind, extra in BETWEEN.items()}
    found |= {f"{kind} in place": begin + net(("t", kind, "c1", "c1", BETWEEN[kind])) + end("c1") for kind in IN_PLACE}

    def between(name: str, kind: str, extra: str = "", tops: str = "x", before: str = begin, bottoms: str = "c1", flat: bool = False) -> None:
        found[name] = before + net(("t", kind, bottoms, tops, extra)) + end("x", flat)

    between("Log", "Log", before=begin + net(("e", "Exp", "c1", "e", "")), bottoms="e")
    between("Convolution in groups", "Convolution", CONVOLUTION.replace("num_output", "group: 2 num_output"))
    between("Pooling of means", "Pooling", "pooling_param { pool: AVE kernel_size: 3 stride: 2 }")
    between("Pooling with a mask", "Pooling", BETWEEN["Pooling"], "x mask")
    between("LRN within channels", "LRN", "lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL }")
    between("BatchNorm of the batch", "BatchNorm", "batch_norm_param { use_global_stats: false }")
    between("MVN across channels", "MVN", "mvn_param { across_channels: true normalize_variance: false }")
    for operation in ("SUM", "PROD", "MAX"):
        between(f"Eltwise {operation}", "Eltwise", f"eltwise_param {{ operation: {operation} }}", before=two, bottoms="c1 c2")
    between("Concat of two", "Concat", before=two, bottoms="c1 c2")
    between("Slice with an unused top", "Slice", tops="x y")
    between("Scale of two", "Scale", "scale_param { axis: 0 }", before=two, bottoms="c1 c2")
    between("Crop", "Crop", before=two + net(("p", "Pooling", "c2", "p", BETWEEN["Pooling"])), bottoms="c1 p")
    between("Flatten", "Flatten", flat=True)
    between("Reshape", "Reshape", "reshape_param { shape { dim: 0 dim: -1 } }", flat=True)
    flattened = begin + net(("f", "Flatten", "c1", "f", ""), ("r", "ReLU", "f", "f", ""))
    between("Flatten and back", "Reshape", "reshape_param { shape { dim: 0 dim: 4 dim: 8 dim: 8 } }", before=flattened, bottoms="f")
    between("SPP", "SPP", "spp_param { pyramid_height: 2 }", flat=True)
    between("Reduction", "Reduction", "reduction_param { axis: 2 operation: SUMSQ }", flat=True)
    between("Filter", "Filter", before=begin + source("chosen", "2 1"), bottoms="c1 chosen")
    embed = 'embed_param { input_dim: 4 num_output: 6 weight_filler { type: "gaussian" std: 0.1 } }'
    between("Embed", "Embed", embed, before=INPUTS + source("words", "2 3"), bottoms="words", flat=True)
    reindexed = begin + source("places", "3") + source("label3", "3") + net(("t", "BatchReindex", "c1 places", "x", ""))
    found["BatchReindex"] = reindexed + end("x").replace('"label"', '"label3"')
    found["ArgMax"] = begin + net(full, ("t", "ArgMax", "ip", "most", ""), SOFTMAX)
    found["Accuracy"] = begin + net(full, ("t", "Accuracy", "ip label", "right each", ""), SOFTMAX)
    found["Threshold and Silence"] = begin + net(("t", "Threshold", "c1", "x", ""), ("q", "Silence", "x", "", "")) + end("c1")
    found["Silence"] = two + net(("q", "Silence", "c2", "", "")) + end("c1")
    branch = ("c5", "Convolution", "a", "c5", CONVOLUTION + " propagate_down: false")
    found["propagate_down"] = begin + net(("a", "ReLU", "c1", "a", ""), branch, ("t", "Eltwise", "a c5", "x", "")) + end("x")
    targets = begin + source("target", "2 5", 'type: "uniform" min: -1 max: 1')
    for kind in ("EuclideanLoss", "SigmoidCrossEntropyLoss"):
        found[kind] = targets + net(full, ("loss", kind, "ip target", "loss", ""))
    found["EuclideanLoss of two"] = begin + net(full, full2, ("loss", "EuclideanLoss", "ip ip2", "loss", ""))
    found["HingeLoss"] = begin + net(full, ("loss", "HingeLoss", "ip label", "loss", ""))
    softmax = ("s", "Softmax", "ip", "s", "")
    found["MultinomialLogisticLoss"] = begin + net(full, softmax, ("loss", "MultinomialLogisticLoss", "s label", "loss", ""))
    contrast = ("loss", "ContrastiveLoss", "ip ip2 same", "loss", "contrastive_loss_param { margin: 3 }")
    found["ContrastiveLoss"] = begin + source("same", "2", 'type: "constant" value: 0') + net(full, full2, contrast)
    found["InfogainLoss"] = begin + source("gain", "1 1 5 5") + net(full, ("loss", "InfogainLoss", "ip label gain", "loss", ""))
    second = ("l2", "EuclideanLoss", "ip2 target", "l2", "loss_weight: 0.3")
    found["two losses"] = targets + net(("r", "ReLU", "c1", "c1", ""), full, SOFTMAX, full2, second)
    inner = (("r", "Reduction", "c1", "r", "loss_weight: 0.5"), ("p", "Power", "r", "p", ""))
    found["a loss that is read"] = begin + net(*inner) + end("c1")
    recurrent = 'recurrent_param { num_output: 3 weight_filler { type: "uniform" min: -0.1 max: 0.1 } }'
    sequence = source("data", "4 2 3", 'type: "uniform"') + source("goes_on", "4 2") + source("label", "4")
    powers = net(("a", "Power", "data", "a", "power_param { scale: 2 }"))
    between("LSTM", "LSTM", recurrent, before=sequence + powers, bottoms="a goes_on", flat=True)
    shared = 'param { name: "w" } param { name: "b" } ' + CONVOLUTION
    found["shared weights"] = begin + net(("s1", "Convolution", "c1", "s", shared), ("s2", "Convolution", "s", "x", shared)) + end("x")
    return found


def digest(values: numpy.ndarray) -> str:
    nan = "nan:" if numpy.isnan(values).any() else ""
    return nan + hashlib.sha256(numpy.ascontiguousarray(values).tobytes()).hexdigest()[:12]


def tested(path: str) -> list[str]:
    caffe.set_random_seed(3)
    made = caffe.Net(path, caffe.TEST)
    return [digest(values) for _ in range(3) for _, values in sorted(made.forward().items())]


def trained(path: str, iterations: int = 3) -> list[str]:
    with open("layers-solver.prototxt", "w") as out:
        out.write(f'net: "{path}" base_lr: 0.01 lr_policy: "fixed" momentum: 0.9 max_iter: {iterations} random_seed: 1\n')
        out.write("solver_mode: CPU snapshot_after_train: false\n")
    solver = caffe.SGDSolver("layers-solver.prototxt")
    solver.step(iterations)
    parameters = [blob for blobs in solver.net.params.values() for blob in blobs]
    outputs = [solver.net.blobs[name] for name in solver.net.outputs]
    return [digest(part) for blob in parameters for part in (blob.data, blob.diff)] + [digest(blob.data) for blob in outputs]


def gone(path: str) -> None:
    """Reads a blob from outside after a pass, in each phase; then one in the middle of a pass, and after the pass its view again."""
    caffe.set_random_seed(3)
    for phase in (caffe.TEST, caffe.TRAIN):
        made = caffe.Net(path, phase)
        made.forward()
        if phase == caffe.TRAIN:
            made.backward()
        try:
            print("read", digest(made.blobs["c1"].data))
        except Exception as error:
            print("error", error)
    made = caffe.Net(path, caffe.TEST)
    made.forward(end="t")
    view = made.blobs["x"].data
    before = digest(view)
    made.forward(start="c9")
    print("kept", digest(view) == before == digest(made.blobs["x"].data))


def at_random(first: int, count: int) -> None:
    from random_nets import random_net

    for seed in range(first, first + count):
        path = "layers.prototxt"
        with open(path, "w") as out:
            out.write(random_net(seed))
        print(seed, *tested(path), *trained(path), flush=True)


def long(iterations: int) -> None:
    from random_nets import random_net

    with open("layers.prototxt", "w") as out:
        out.write(random_net(LONG))
    trained("layers.prototxt", iterations)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main() -> None:
    caffe.set_mode_cpu()
    if sys.argv[1] == "long":
        return long(int(sys.argv[2]))
    if sys.argv[1] == "random":
        return at_random(int(sys.argv[2]), int(sys.argv[3]))
    for name, text in nets().items():
        path = "layers.prototxt"
        with open(path, "w") as out:
            out.write(text)
        if sys.argv[1] == "gone":
            return gone(path)
        computed = tested(path) if sys.argv[1] == "test" else trained(path)
        print(name, *computed, flush=True)
    return None


if __name__ == "__main__":
    main()
