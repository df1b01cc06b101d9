"""Random nets of Caffe's layers: branches, in-place chains, shared weights, several losses, propagate_down, tops that none reads."""

from __future__ import annotations

import random

from pycaffe_layers import CONVOLUTION, INPUTS, net, source

BATCH = 2
# Layers that keep a blob's shape, with their parameters; the first ones also in place.
IN_PLACE = {
    **{kind: "" for kind in "BatchNorm Bias Dropout ELU PReLU ReLU Sigmoid TanH".split()},
    "Scale": "scale_param { bias_term: true }",
}
KEEPING = {
    **IN_PLACE,
    **{kind: "" for kind in "AbsVal BNLL MVN Softmax".split()},
    "LRN": "lrn_param { local_size: 3 }",
    "Power": "power_param { power: 2 scale: 0.5 shift: 0.3 }",
}
TARGETS = 5


class Blob:
    def __init__(self, name: str, channels: int, side: int) -> None:
        self.name, self.channels, self.side = name, channels, side
        self.is_read = False


class Maker:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.layers: list[tuple[str, str, str, str, str]] = []
        self.blobs = [Blob("data", 3, 8)]

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
        kinds = ["keep"] * 4 + ["in place"] * 5 + ["convolution"] * 4 + ["pool", "join", "join", "concat", "slice", "split", "silence", "tile"]
        kind = self.chance.choice(kinds)
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
            self.add(what, [blob], [shape], KEEPING[what] + " " + self.cut(1))
        elif kind == "convolution":
            outputs = self.chance.randint(2, 5)
            weights = f"w{blob.channels}_{outputs}"
            shared = f'param {{ name: "{weights}" }} param {{ name: "{weights}b" }} ' if self.chance.random() < 0.3 else ""
            text = CONVOLUTION.replace("num_output: 4", f"num_output: {outputs}")
            self.add("Convolution", [blob], [(outputs, blob.side)], shared + text + " " + self.cut(1))
        elif kind == "pool" and blob.side >= 4:
            how = self.chance.choice(["MAX", "AVE"])
            self.add("Pooling", [blob], [(blob.channels, blob.side // 2)], f"pooling_param {{ pool: {how} kernel_size: 2 stride: 2 }}")
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
        self.add("Convolution", [self.blobs[0]], [(4, 8)], CONVOLUTION)
        for _ in range(self.chance.randint(4, 22)):
            self.step()
        sides = [blob for blob in self.blobs if blob.name != "data"]
        for _ in range(self.chance.randint(1, 3)):
            self.blobs = list(sides)
            self.loss()
        inputs = INPUTS + source("target", f"{BATCH} {TARGETS}", 'type: "uniform" min: 0 max: 1')
        return inputs + net(*self.layers)


def random_net(seed: int) -> str:
    return Maker(seed).text()
