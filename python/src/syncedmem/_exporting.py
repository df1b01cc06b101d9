"""The part of `__dlpack__` that all classes share."""

from __future__ import annotations

import operator
from typing import NamedTuple

from ._handle import Handle
from ._streams import consumer_stream, order
from ._tensors import DType, Hold, Shape, bytes_of, capsule, host_array
from ._types import Kind, Side

DLDevice = tuple[int, int]
"""DLPack's kind of device, and its ordinal."""

Version = tuple[int, int]
"""A version of DLPack, major and minor."""


class Source(NamedTuple):
    """Elements of one side, and the access that the consumer has to them."""

    handle: Handle
    side: Side
    kind: Kind
    dtype: DType
    shape: Shape


def asked_device(dl_device: DLDevice) -> DLDevice:
    """The device that a consumer asks for, as a pair of numbers."""
    try:
        kind, ordinal = dl_device
        return operator.index(kind), operator.index(ordinal)
    except (TypeError, ValueError):
        raise TypeError(f"dl_device is {dl_device!r}, and not DLPack's kind of device with its ordinal") from None


def export(
    source: Source,
    device: DLDevice,
    stream: object,
    max_version: Version | None,
    dl_device: DLDevice | None,
    copy: bool | None,
) -> object:
    """Performs an access and returns its capsule. The arguments are those of `__dlpack__` in the array API."""
    versioned = max_version is not None and tuple(max_version) >= (1, 0)
    if dl_device is not None and asked_device(dl_device) != device:
        raise BufferError(
            f"this is device {device}, and {dl_device} was asked for: export the array of the SyncedMemory "
            "itself, which has both sides"
        )
    waits = None
    if source.side == Side.DEVICE:
        waits = consumer_stream(stream)
    elif stream is not None:
        raise ValueError("memory of the CPU has no stream: stream must be None")
    if copy:
        source = _copied(source, device)
    made = capsule(*source, versioned=versioned, copied=bool(copy))
    order(source.handle, waits)
    return made


def _copied(source: Source, device: DLDevice) -> Source:
    """A writable copy in a memory of its own."""
    nbytes = bytes_of(source.dtype, source.shape)
    copy = Handle(nbytes)
    # Through the host: the library has no copy from device to device.
    read = Hold(source.handle, Side.HOST, Kind.READ, nbytes)
    host_array(Hold(copy, Side.HOST, Kind.OVERWRITE, nbytes), source.dtype, source.shape)[...] = host_array(
        read, source.dtype, source.shape
    )
    if source.side == Side.DEVICE:
        made = Hold(copy, Side.DEVICE, Kind.READ, nbytes).device
        if made != device[1]:
            raise BufferError(f"a copy is made on the device that is current, {made}, and {device} was asked for")
    return source._replace(handle=copy, kind=Kind.WRITE)
