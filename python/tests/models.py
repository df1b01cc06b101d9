"""Model files in protobuf's wire format. Run as a program, it writes the files of the documents to a folder."""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Union


def varint(value: int) -> bytes:
    """A number."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """A field that is a number."""
    return varint(field << 3) + varint(value)


def field(number: int, value: Union[bytes, str]) -> bytes:
    """A field with a length prefix."""
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def shape(dims: Sequence[int]) -> bytes:
    """The field of a shape."""
    return field(7, field(1, b"".join(map(varint, dims))))


def blob(dims: Sequence[int], values: Sequence[float], diff: Sequence[float] = (), kind: str = "f") -> bytes:
    """A blob of floats, or of doubles ("d")."""
    data, gradients = (5, 6) if kind == "f" else (8, 9)
    message = shape(dims) + field(data, struct.pack(f"<{len(values)}{kind}", *values))
    return message + (field(gradients, struct.pack(f"<{len(diff)}{kind}", *diff)) if diff else b"")


def halves(values: Sequence[float]) -> bytes:
    """A float16 blob of NVIDIA's Caffe."""
    return shape([len(values)]) + number(10, 2) + field(12, struct.pack(f"<{len(values)}e", *values))


def layer(name: Union[bytes, str], of: str, blobs: Sequence[bytes] = (), more: bytes = b"") -> bytes:
    """A layer of a net, with other fields."""
    return field(100, field(1, name) + field(2, of) + b"".join(field(7, each) for each in blobs) + more)


LENET = (
    field(1, "LeNet")
    + layer("data", "Input")
    + layer("conv1", "Convolution", [blob([2, 1, 1, 2], [1, 2, 3, 4]), blob([2], [0.5, -0.5])])
    + layer("ip/1", "InnerProduct", [blob([1, 3], [1, 2, 3], diff=[4, 5, 6])])
)
"""A net of three layers."""


EXAMPLES = Path(__file__).parents[2] / "examples"
INIT_NET = (EXAMPLES / "init_net.pb").read_bytes()
"""Weights as Caffe2 saves them."""


QUANTIZED = field(
    2,
    field(2, "w")
    + field(4, "Int8GivenTensorFill")
    + field(5, field(1, "shape") + number(6, 2))
    + field(5, field(1, "values") + field(4, b"\x07\x08"))
    + field(5, field(1, "Y_scale") + varint(2 << 3 | 5) + struct.pack("<f", 0.5))
    + field(5, field(1, "Y_zero_point") + number(3, 128)),
)
"""A quantized tensor of Caffe2's file."""


def write(folder: Path) -> None:
    """Writes the files of docs/models.md."""
    small = (EXAMPLES / "small.caffemodel").read_bytes()
    history = b"".join(field(3, blob([1], [each])) for each in range(13))
    (folder / "small.caffemodel").write_bytes(small)
    (folder / "cut.caffemodel").write_bytes(small[:120])
    (folder / "demo.solverstate").write_bytes(number(1, 200) + field(2, "model_iter_200.caffemodel") + history)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
