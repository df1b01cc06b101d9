"""Random nets of Caffe's layers: branches, in-place chains, shared weights, several losses, propagate_down, tops without a reader.

Branches and chains are those of ResNet and of Inception. Some blobs have -0, infinities, NaN, zeros alone, or one value in all places."""

from __future__ import annotations

import random

from pycaffe_layers import CONVOLUTION, net, source

# Layers that keep a blob's shape, with their parameters; the first ones also in place.
IN_PLACE = {
    **{kind: "" for kind in "BatchNorm Bias Dropout ELU PReLU ReLU Sigmoid Swish TanH".split()},
    "Scale": "scale_param { bias_term: true }",
}
KEEPING = {
    **{kind: [parameters] for kind, parameters in IN_PLACE.items()},
    **{kind: [""] for kind in "AbsVal BNLL MVN Softmax".split()},
    "Clip": ["clip_param { min: -0.3 max: 0.3 }"],
    "Exp": ["exp_param { scale: 0.2 }"],
    "LRN": ["lrn_param { local_size: 3 }", "lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL }"],
    # The last ones negate zeros, make all values equal, and make them zeros.
    "Power": [f"power_param {{ {values} }}" for values in ("power: 2 scale: 0.5 shift: 0.3", "scale: -1", "scale: 0 shift: 2", "scale: 0")],
    "ReLU": ["", "relu_param { negative_slope: 0.1 }"],
    "Reshape": ["reshape_param { shape { dim: 0 dim: 0 dim: 0 dim: -1 } }"],
}
# Layers whose output has infinities and NaN.
EXTREME = {
    "Exp": "exp_param { scale: 1000 }",
    "Log": "",
    "Power": "power_param { power: -0.5 scale: 1e30 }",
}
TARGETS = 5


class Blob:
    def __init__(self, name: str, channels: int, side: int) -> None:
        self.name, self.channels, self.side = name, channels, side
        self.is_read = False


class Maker:
    def __init__(self, seed: int, batches: tuple[int, ...] = (2,), sides: tuple[int, ...] = (8,)) -> None:
        self.chance = random.Random(seed)
        self.layers: list[tuple[str, str, str, str, str]] = []
        self.batch, side = self.chance.choice(batches), self.chance.choice(sides)
        self.blobs = [Blob("data", 3, side)]

    def name(self, kind: str) -> str:
        return f"{kind.lower()}{len(self.layers)}"

    def pick(self) -> Blob:
        """Of the newest blobs more often than of others."""
        blob = self.chance.choice(self.blobs[-3:] if self.chance.random() < 0.8 else self.blobs)
        blob.is_read = True
        return blob

    def like(self, blob: Blob, channels: bool) -> Blob:
        """Another blob of the same shape, or but for its channels."""
        fits = [one for one in self.blobs if one.side == blob.side and (one.channels == blob.channels or not channels)]
        found = self.chance.choice(fits)
        found.is_read = True
        return found

    def add(self, kind: str, bottoms: list[Blob], shapes: list[tuple[int, int]], extra: str = "", name: str = "") -> list[Blob]:
        name = name or self.name(kind)
        tops = [Blob(f"{name}_{number}", *shape) for number, shape in enumerate(shapes)]
        self.layers.append((name, kind, " ".join(blob.name for blob in bottoms), " ".join(blob.name for blob in tops), extra))
        self.blobs += tops
        return tops

    def cut(self, bottoms: int) -> str:
        """Now and then one bottom gets no gradient."""
        if self.chance.random() > 0.08:
            return ""
        cut = self.chance.randrange(bottoms)
        return " ".join(f"propagate_down: {str(number != cut).lower()}" for number in range(bottoms))

    def step(self) -> None:
        kinds = ["keep"] * 5 + ["in place"] * 5 + ["convolution"] * 4 + ["pool", "pool", "join", "join", "scale", "concat", "slice", "split"]
        kind = self.chance.choice([*kinds, "silence", "tile", "extreme", "residual", "residual", "inception"])
        # Caffe refuses to split a blob that another layer reads.
        unread = [blob for blob in self.blobs if not blob.is_read and blob.name != "data"]
        if kind == "in place":
            if unread:
                what, name = self.chance.choice(list(IN_PLACE)), unread[-1].name
                self.layers.append((self.name(what), what, name, name, IN_PLACE[what]))
            return
        blob = self.pick()
        shape = (blob.channels, blob.side)
        if kind == "keep":
            what = self.chance.choice(list(KEEPING))
            self.add(what, [blob], [shape], self.chance.choice(KEEPING[what]) + " " + self.cut(1))
        elif kind == "convolution":
            self.convolution(blob, self.chance.randint(2, 5), self.cut(1))
        elif kind == "pool" and blob.side >= 4:
            how = self.chance.choice(["MAX", "MAX", "AVE"])
            if how == "MAX":
                # Its Backward writes in front of its memory where it found no largest value, as among NaN.
                (blob,) = self.add("Clip", [blob], [shape], "clip_param { min: -10 max: 10 }")
                self.chain(blob, self.chance.choice(["ReLU", ""]))
                blob.is_read = True
            # A second top has the places of the largest values.
            tops = 2 if how == "MAX" and self.chance.random() < 0.4 else 1
            size = (blob.channels, (blob.side + 1) // 2)
            tops = self.add("Pooling", [blob], [size] * tops, f"pooling_param {{ pool: {how} kernel_size: 2 stride: 2 }}")
            for mask in tops[1:]:
                self.blobs.remove(mask)
                if self.chance.random() < 0.5:
                    self.add("Silence", [mask], [])
        elif kind == "scale":
            what = self.chance.choice(["Scale", "Bias"])
            parameters, factors = f"{what.lower()}_param {{ axis: 0 }}", self.like(blob, True)
            if unread and unread[-1] is not factors and (unread[-1].channels, unread[-1].side) == (factors.channels, factors.side):
                name = unread[-1].name
                self.layers.append((self.name(what), what, f"{name} {factors.name}", name, parameters))
            elif factors is not blob:
                self.add(what, [blob, factors], [shape], parameters + " " + self.cut(2))
        elif kind == "extreme":
            what = self.chance.choice(list(EXTREME))
            (extreme,) = self.add(what, [blob], [shape], EXTREME[what])
            # Clip makes all values finite, but not the gradients.
            self.add("Clip", [extreme], [shape], f"clip_param {{ min: -1 max: 1 }} propagate_down: {str(self.chance.random() < 0.05).lower()}")
            extreme.is_read = True
            if self.chance.random() < 0.9:
                self.blobs.remove(extreme)
        elif kind == "residual":
            self.residual(blob)
        elif kind == "inception":
            self.inception(blob)
        elif kind == "join":
            how = self.chance.choice(["SUM", "SUM", "MAX", "PROD"])
            self.add("Eltwise", [blob, self.like(blob, True)], [shape], f"eltwise_param {{ operation: {how} }} " + self.cut(2))
        elif kind == "concat":
            other = self.like(blob, False)
            if blob.channels + other.channels <= 12:
                self.add("Concat", [blob, other], [(blob.channels + other.channels, blob.side)])
        elif kind == "slice" and blob.channels % 2 == 0:
            # Its second top is often read by none.
            self.add("Slice", [blob], [(blob.channels // 2, blob.side)] * 2)
        elif kind == "split":
            self.add("Split", [blob], [shape] * 2)
        elif kind == "silence" and self.chance.random() < 0.5:
            self.add("Silence", [blob], [])
        elif kind == "tile" and blob.channels <= 4:
            self.add("Tile", [blob], [(2 * blob.channels, blob.side)], "tile_param { axis: 1 tiles: 2 }")

    def convolution(self, blob: Blob, outputs: int, extra: str = "") -> Blob:
        blob.is_read = True
        weights = f"w{blob.channels}_{outputs}"
        shared = f'param {{ name: "{weights}" }} param {{ name: "{weights}b" }} ' if self.chance.random() < 0.3 else ""
        text = CONVOLUTION.replace("num_output: 4", f"num_output: {outputs}")
        return self.add("Convolution", [blob], [(outputs, blob.side)], shared + text + " " + extra)[0]

    def chain(self, blob: Blob, kinds: str) -> Blob:
        for kind in kinds.split():
            self.layers.append((self.name(kind), kind, blob.name, blob.name, IN_PLACE[kind]))
        return blob

    def residual(self, blob: Blob) -> None:
        """A block of ResNet."""
        inner = self.chain(self.convolution(blob, 4), "BatchNorm Scale ReLU")
        branch = self.chain(self.convolution(inner, blob.channels), "BatchNorm Scale")
        (both,) = self.add("Eltwise", [blob, branch], [(blob.channels, blob.side)])
        branch.is_read = True
        self.chain(both, "ReLU")

    def inception(self, blob: Blob) -> None:
        """A block of GoogLeNet, with several readers."""
        kinds = [self.chance.choice(["ReLU", "ReLU", "TanH", "ReLU Dropout"]) for _ in range(self.chance.randint(2, 3))]
        branches = [self.chain(self.convolution(blob, self.chance.randint(1, 4)), kind) for kind in kinds]
        for branch in branches:
            branch.is_read = True
        (joined,) = self.add("Concat", branches, [(sum(branch.channels for branch in branches), blob.side)])
        readers = [self.convolution(joined, 4) for _ in range(self.chance.randint(1, 2))]
        self.blobs = [one for one in self.blobs if one not in branches or self.chance.random() < 0.3]
        self.chain(readers[-1], "ReLU")

    def loss(self) -> None:
        weight = f"loss_weight: {self.chance.choice([1, 0.3, 2])}"
        blob = self.pick()
        if self.chance.random() < 0.2:
            self.add("Reduction", [blob], [(1, 1)], f"reduction_param {{ operation: {self.chance.choice(['MEAN', 'SUMSQ'])} }} {weight}")
            return
        if self.chance.random() < 0.3:
            (blob,) = self.add("Flatten", [blob], [(blob.channels * blob.side**2, 1)])
        inner = 'inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 0.1 } }'
        (scores,) = self.add("InnerProduct", [blob], [(TARGETS, 1)], inner)
        kind = self.chance.choice(["SoftmaxWithLoss", "SoftmaxWithLoss", "EuclideanLoss", "HingeLoss", "SigmoidCrossEntropyLoss"])
        truth = Blob("target" if kind in ("EuclideanLoss", "SigmoidCrossEntropyLoss") else "label", TARGETS, 1)
        self.add(kind, [scores, truth], [(1, 1)], weight)
        if kind == "SoftmaxWithLoss" and self.chance.random() < 0.4:
            self.add("Accuracy", [scores, truth], [(1, 1)])

    def text(self) -> str:
        data = self.blobs[0]
        self.convolution(data, 4)
        for _ in range(self.chance.randint(4, 22)):
            self.step()
        sides = [blob for blob in self.blobs if blob is not data]
        for _ in range(self.chance.randint(1, 3)):
            self.blobs = list(sides)
            self.loss()
        inputs = source("data", f"{self.batch} 3 {data.side} {data.side}", 'type: "uniform" min: -1 max: 1')
        inputs += source("label", f"{self.batch}", 'type: "constant" value: 2')
        inputs += source("target", f"{self.batch} {TARGETS}", 'type: "uniform" min: 0 max: 1')
        return inputs + net(*self.layers)


def random_net(seed: int) -> str:
    # Contents of less than 1024 bytes are not parked.
    return Maker(seed, (2, 4, 5), (7, 8, 12)).text()
