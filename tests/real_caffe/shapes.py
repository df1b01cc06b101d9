"""The memory that a net needs, from the shapes in its prototxt alone: by role, and for one more item of the batch.

Written for the nets of bench/caffe/nets.py: chains of the layers below, a layer on each line.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import Dict, List

FLOAT = 4


@dataclass
class Layer:
    """A layer's line."""

    line: str

    def text(self, key: str) -> str:
        return self.texts(key)[0]

    def texts(self, key: str) -> List[str]:
        return re.findall(rf'\b{key}: "([^"]*)"', self.line)

    def number(self, key: str, default: int = 0) -> int:
        found = re.search(rf"\b{key}: (\d+)", self.line)
        return int(found[1]) if found else default


@dataclass
class Needs:
    """Bytes by role, for a forward and a backward pass."""

    batch: int = 0
    data: int = 0
    weights: int = 0
    activations: int = 0
    gradients: int = 0
    grows: int = 0  # bytes whose first axis is the batch
    shapes: Dict[str, List[int]] = field(default_factory=dict)

    @property
    def one_more(self) -> int:
        """Bytes for one more item of the batch."""
        assert self.grows % self.batch == 0, f"{self.grows} bytes for {self.batch} items"
        return self.grows // self.batch


def needs(prototxt: str, is_training: bool = True) -> Needs:
    """What the net of a prototxt needs; `is_training`: in the phase TRAIN."""
    layers = [Layer(line) for line in prototxt.splitlines() if line]
    need = Needs()
    uses = Counter(bottom for layer in layers for bottom in layer.texts("bottom") if bottom not in layer.texts("top"))
    for layer in layers:
        add(need, layer, is_training)
    need.batch = need.shapes["data"][0]
    for name, count in uses.items():
        # Each use has a gradient of its own, and a Split layer adds them up.
        if count > 1 and name not in ("data", "label"):
            need.gradients += count * FLOAT * prod(need.shapes[name])
            need.grows += count * FLOAT * prod(need.shapes[name])
    return need


def add(need: Needs, layer: Layer, is_training: bool) -> None:
    kind, top = layer.text("type"), layer.text("top")
    bottoms = [need.shapes[bottom] for bottom in layer.texts("bottom")]
    if not bottoms:
        need.shapes[top] = [int(size) for size in re.findall(r"dim: (\d+)", layer.line)]
        need.data += FLOAT * prod(need.shapes[top])
        need.grows += FLOAT * prod(need.shapes[top])
        return
    shape = bottoms[0]
    inside = 0  # elements whose first axis is the batch
    if kind == "Convolution":
        size, stride, pad = layer.number("kernel_size"), layer.number("stride", 1), layer.number("pad")
        outputs = layer.number("num_output")
        parameter(need, outputs * shape[1] // layer.number("group", 1) * size * size + outputs)
        if layer.text("bottom") == "data":
            # Its backward pass asks for the gradient of the images, although nothing needs it.
            need.gradients += FLOAT * prod(shape)
            need.grows += FLOAT * prod(shape)
        shape = [shape[0], outputs] + [(side + 2 * pad - size) // stride + 1 for side in shape[2:]]
    elif kind == "Pooling":
        size, stride = layer.number("kernel_size"), layer.number("stride", 1)
        shape = shape[:2] + [-(-(side - size) // stride) + 1 for side in shape[2:]]
        inside = prod(shape)  # which input was the greatest
    elif kind == "InnerProduct":
        outputs = layer.number("num_output")
        parameter(need, outputs * prod(shape[1:]) + outputs)
        shape = [shape[0], outputs]
        inside = shape[0]  # ones, to add the bias to every item
    elif kind == "LRN":
        inside = prod(shape)  # the scales
    elif kind == "Dropout":
        inside = prod(shape) if is_training else 0  # the mask
    elif kind == "SoftmaxWithLoss":
        # The probabilities, a sum for each item, and a weight of the loss for each probability: its inner layer is a loss layer, too.
        inside = 2 * prod(shape) + shape[0]
        shape = []
    elif kind == "Reduction":
        shape = []
    else:
        assert kind == "ReLU", f"no shape is known for {kind}"
    need.grows += FLOAT * inside
    if top not in layer.texts("bottom"):
        need.shapes[top] = shape
        need.activations += FLOAT * prod(shape)
        need.gradients += FLOAT * prod(shape)
        need.grows += 2 * FLOAT * prod(shape) if shape else 0


def parameter(need: Needs, elements: int) -> None:
    need.weights += FLOAT * elements
