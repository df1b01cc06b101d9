"""A walk through Caffe2's storage: tensors by name, in memory that they keep and share."""

import sys

import syncedmem
from syncedmem import Tensor, Workspace, ffi, lib


def check(status: int) -> None:
    if status != 0:
        raise RuntimeError(ffi.string(lib.syncedmem_last_error()).decode())


def any_type() -> None:
    """One blob holds one value of any type. Python's mapping is of tensors, so this is the C API."""
    made, value = ffi.new("syncedmem_typed_blob_t **"), ffi.new("void **")
    check(lib.syncedmem_typed_blob_create(made))
    blob = ffi.gc(made[0], lib.syncedmem_typed_blob_destroy)
    number = ffi.new("syncedmem_typemeta_t *")
    check(lib.syncedmem_typemeta(lib.SYNCEDMEM_INT32, number))
    check(lib.syncedmem_typed_blob_get_mutable(blob, number, ffi.NULL, value))
    ffi.cast("int32_t *", value[0])[0] = 5
    print(f"one blob: int {ffi.cast('int32_t *', value[0])[0]}", end="")
    check(lib.syncedmem_typemeta(lib.SYNCEDMEM_FLOAT64, number))
    check(lib.syncedmem_typed_blob_get_mutable(blob, number, ffi.NULL, value))
    ffi.cast("double *", value[0])[0] = 5.5
    print(f", double {ffi.cast('double *', value[0])[0]:g}", end="")
    # A type of this program, identified by an address of its memory. The blob refers to the text, which Python owns.
    name, text = ffi.new("char[]", b"string"), ffi.new("char[]", b"five and a half")
    string = ffi.new("syncedmem_typemeta_t *", {"id": name, "name": name, "itemsize": ffi.sizeof(text)})
    check(lib.syncedmem_typed_blob_reset(blob, text, string, ffi.NULL, ffi.NULL))
    check(lib.syncedmem_typed_blob_get(blob, string, value))
    print(f", string {ffi.string(ffi.cast('char *', value[0])).decode()}")


def by_name(ws: Workspace) -> None:
    """A name leads to a blob, the blob to a tensor, and the tensor's first mutable data to an allocation."""
    weights = ws.tensor("weights")
    weights.resize(2, 3)
    print(f"weights: a tensor of {weights.shape}, {weights.capacity} bytes; ", end="")
    items = weights.mutable_data("float32")
    print(f"after mutable data {weights.capacity} bytes")
    items[:] = [[1, 2, 3], [4, 5, 6]]


def shrinks(tensor: Tensor) -> None:
    def same() -> str:
        return "the same" if tensor.data().ctypes.data == before else "other"

    before = tensor.data().ctypes.data
    tensor.resize(1, 2)
    print(f"shrink to {tensor.shape}: {tensor.nbytes} of {tensor.capacity} bytes, {same()} memory")
    tensor.resize(2, 3)
    print(f"back to {tensor.shape}: {tensor.nbytes} of {tensor.capacity} bytes, {same()} memory")
    other = Tensor()
    other.copy_from(tensor)
    syncedmem.set_keep_on_shrink(False)
    other.resize(1, 2)
    print(f"without keep on shrink, to {other.shape}: {other.nbytes} of {other.capacity} bytes")
    syncedmem.set_keep_on_shrink(True)


def shares(ws: Workspace) -> None:
    weights, flat = ws["weights"], ws.tensor("flat")
    flat.resize(6)
    flat.share(weights)
    total = sum(ws.sizes.values())
    print(f"flat shares the memory of weights: it reads {flat.data()[5]:g}, and the workspace has {total} bytes")
    flat.resize(7)
    flat.mutable_data()
    print(
        f"flat resized to 7: {flat.nbytes} of {flat.capacity} bytes, weights still ends with {weights.data()[1, 2]:g}"
    )


def to_the_device(tensor: Tensor) -> None:
    device, back = Tensor(device=True), Tensor()
    device.copy_from(tensor)
    back.copy_from(device)
    print("on the device and back:", *(f"{item:g}" for item in back.data().ravel()))


def main() -> None:
    any_type()
    ws = Workspace()
    by_name(ws)
    shrinks(ws["weights"])
    shares(ws)
    to_the_device(ws["weights"])


if __name__ == "__main__":
    found = syncedmem.cuda_status()
    if not found.available:
        sys.exit(found.sentence)
    main()
