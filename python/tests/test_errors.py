"""The library's failures as exceptions, with its sentence and its status."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import models
import syncedmem
from cuda_driver import Driver
from syncedmem import Blob, Error, Head, Status, SyncedMemory, Tensor, Workspace


def test_what_is_exported_is_a_buffer_error_with_the_sentence_and_the_status() -> None:
    mem = SyncedMemory(4096)
    array = mem.cpu_data()
    for use in (mem.close, lambda: mem.set_cpu_data(np.zeros(4096, "u1"))):
        with pytest.raises(BufferError) as caught:
            use()
        assert isinstance(caught.value, syncedmem.ExportedError)
        assert caught.value.status is Status.EXPORTED and "in use" in str(caught.value)
    assert array.shape == (4096,)


NEEDS_A_GPU: list[Callable[[SyncedMemory], Any]] = [
    lambda mem: mem.gpu_data(),
    lambda mem: mem.mutable_gpu_data(),
    lambda mem: mem.overwrite_gpu_data(),
    lambda mem: mem.gpu().__enter__(),
    lambda mem: mem.mutable_gpu().__dlpack__(),
    lambda mem: mem.mutable_gpu().__dlpack_device__(),
    # An AttributeError would mean that the protocol is absent.
    lambda mem: hasattr(mem.overwrite_gpu(), "__cuda_array_interface__"),
    lambda mem: mem.async_gpu_push(),
]


@pytest.mark.no_driver
@pytest.mark.parametrize("use", NEEDS_A_GPU)
def test_without_a_gpu_the_sentence_says_why(use: Callable[[SyncedMemory], Any]) -> None:
    mem = SyncedMemory(4096)
    mem.mutable_cpu_data()[:] = 1
    with pytest.raises(RuntimeError) as caught:
        use(mem)
    assert isinstance(caught.value, Error) and caught.value.status is Status.NO_GPU
    assert syncedmem.cuda_status().sentence in str(caught.value)
    assert mem.head is Head.HEAD_AT_CPU and (mem.cpu_data() == 1).all()


def test_an_error_can_be_pickled() -> None:
    import pickle

    with pytest.raises(Error) as caught:
        SyncedMemory(4096).release_cpu()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.status is Status.INVALID_STATE


class Mine(SyncedMemory):
    pass


# A sentence begins with the called function, and the file.
NAMED: dict[str, Callable[[], object]] = {
    "SyncedMemory: host allocation": lambda: SyncedMemory(2**62),
    "SyncedMemory.cpu_data: host allocation": lambda: SyncedMemory(2**47).cpu_data(),
    "SyncedMemory.release_cpu: the host side": lambda: SyncedMemory(8).release_cpu(),
    "Mine.async_gpu_push: the head is": lambda: Mine(8).async_gpu_push(),
    "SyncedArray.__array_interface__: host allocation": lambda: np.asarray(SyncedMemory(2**47).array("u1")),
    "HostAccess.__enter__: host allocation": lambda: SyncedMemory(2**47).cpu().__enter__(),
    "Blob.data: the blob has no shape": lambda: Blob().data,
    "Blob.num: num, channels": lambda: Blob((1, 2, 3, 4, 5)).num,
    "Blob.share_data: the blob has 2": lambda: Blob(2).share_data(Blob(3)),
    "Tensor.reshape: the dimensions": lambda: Tensor(4).reshape(9),
    "Workspace.rename: this workspace": lambda: Workspace().rename("x", "y"),
    "trace_start: /no/such/trace: ": lambda: syncedmem.trace_start("/no/such/trace"),
    "trace: /no/such/trace: ": lambda: syncedmem.trace("/no/such/trace").__enter__(),
    "load_init_net: /no/such/net.pb: ": lambda: syncedmem.load_init_net("/no/such/net.pb"),
    "open_caffemodel: /no/such/net.caffemodel: ": lambda: syncedmem.open_caffemodel("/no/such/net.caffemodel"),
    "load_caffemodel: /no/such/net.caffemodel: ": lambda: syncedmem.load_caffemodel("/no/such/net.caffemodel"),
    "load_binaryproto: /no/such/mean.binaryproto: ": lambda: syncedmem.load_binaryproto("/no/such/mean.binaryproto"),
    "save_binaryproto: /no/such/mean.binaryproto: ": lambda: syncedmem.save_binaryproto("/no/such/mean.binaryproto", Blob(2)),
}


@pytest.mark.parametrize("begin", NAMED)
def test_a_sentence_begins_with_the_function_that_was_called_and_the_file(begin: str) -> None:
    with pytest.raises((Error, MemoryError, ValueError)) as caught:
        NAMED[begin]()
    assert str(caught.value).startswith(begin)


def test_advice_names_the_functions_of_python(tmp_path: Path, driver: Driver) -> None:
    path = tmp_path / "lenet.caffemodel"
    path.write_bytes(models.LENET)
    with pytest.raises(Error, match="open it with open_caffemodel$"):
        syncedmem.load_binaryproto(path)
    mem = SyncedMemory(8)
    mem.mutable_cpu_data()[:] = 1
    mem.discard()
    with pytest.raises(Error, match=r"given up \(discard\), .*\(mutable_cpu_data begins with zeros\)$"):
        mem.cpu_data()


def test_errors_about_a_model_name_its_file(tmp_path: Path) -> None:
    path = tmp_path / "lenet.caffemodel"
    path.write_bytes(models.LENET)
    blob = syncedmem.open_caffemodel(path)["conv1"].blobs[0]
    hdf5 = tmp_path / "cut.caffemodel.h5"
    hdf5.write_bytes(b"\x89HDF\r\n\x1a\n")
    uses: dict[str, Callable[[], object]] = {
        f"ModelBlob.read: {path}: layer 1": lambda: blob.read(diff=True),
        f"ModelBlob.read: {path}: values are not read as": lambda: blob.read("U4"),
        f"ModelBlob.read_into: {path}: layer 1": lambda: blob.read_into(SyncedMemory(3), "f4"),
        f"load_caffemodel: {hdf5}: cannot be read": lambda: syncedmem.load_caffemodel(hdf5),
    }
    for begin, use in uses.items():
        with pytest.raises((Error, OSError, TypeError)) as caught:
            use()
        assert str(caught.value).startswith(begin)
