"""The part of `__dlpack__` that all classes share."""

from __future__ import annotations

import operator

from ._arguments import integer
from ._capsules import Taken
from ._errors import called
from ._handle import Handle
from ._streams import consumer_stream, order
from ._tensors import IS_COPIED, Hold, Layout
from ._types import Kind, Side

DLDevice = tuple[int, int]
"""DLPack's kind of device, and its ordinal."""

Version = tuple[int, int]
"""A version of DLPack, major and minor."""


Source = tuple[Handle, Side, Kind, Layout]
"""Elements of one side, and the access that the consumer has to them."""


def asked_device(dl_device: DLDevice) -> DLDevice:
    """The requested device as a pair of numbers."""
    try:
        kind, ordinal = dl_device
        return operator.index(kind), operator.index(ordinal)
    except (TypeError, ValueError):
        sentence = f"{called()}: dl_device is {dl_device!r}; pass DLPack's kind of device and its ordinal"
        raise TypeError(sentence) from None


def export(
    source: Source, device: DLDevice, stream: object, max_version: Version | None, dl_device: DLDevice | None, copy: bool | None
) -> object:
    """Performs an access and returns its capsule. The arguments are those of `__dlpack__` in the array API."""
    versioned = max_version is not None and integer(max_version[0], "max_version") >= 1
    if dl_device is not None and asked_device(dl_device) != device:
        raise BufferError(
            f"this is device {device}, and {dl_device} was asked for: export the array of the SyncedMemory itself, which has both sides"
        )
    handle, side, kind, layout = source
    waits = None
    if side is Side.DEVICE:
        waits = consumer_stream(stream)
    elif stream is not None:
        raise ValueError("memory of the CPU has no stream: stream must be None")
    if copy:
        handle, kind = _copied(source, device), Kind.WRITE
    if not versioned and kind is Kind.READ:
        raise BufferError(
            "a tensor for reading cannot be handed to a consumer from before DLPack 1.0 (max_version is not given, or "
            "below 1.0): it would not know that it must not write. Export mutable_cpu() or mutable_gpu(), or use a "
            "consumer that knows DLPack 1.0."
        )
    if not layout.known:
        raise BufferError(f"DLPack has no type for {layout.dtype}: export other data, or the array's bytes, as mem.array(numpy.uint8)")
    made: object = layout.tensor(handle, side, kind, versioned)
    if copy and versioned:
        Taken(made).tensor.flags |= IS_COPIED
    if waits is not None:
        order(handle, waits)
    return made


def _copied(source: Source, device: DLDevice) -> Handle:
    """A copy in new memory."""
    handle, side, _, layout = source
    copy = Handle(layout.nbytes)
    # The copy goes through the host: the library has no copy from device to device.
    layout.on_host(copy, Kind.OVERWRITE)[...] = layout.on_host(handle, Kind.READ)
    if side is Side.DEVICE:
        made = Hold(copy, Kind.READ, layout).device
        if made != device[1]:
            raise BufferError(f"a copy is made on the device that is current, {made}, and {device} was asked for")
    return copy
