"""Caffe2's `Tensor`: its arrays, types and errors in Python, and DLPack both ways."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

import syncedmem
from syncedmem import DeviceArray, Error, Tensor

pytestmark = pytest.mark.once


def counting(*shape: int, dtype: str = "i4") -> Tensor:
    tensor = Tensor(shape)
    data = tensor.mutable_data(dtype)
    data[...] = np.arange(data.size).reshape(shape)
    return tensor


def test_a_tensor_has_neither_shape_nor_type_nor_memory_at_first() -> None:
    tensor = Tensor()
    assert (tensor.shape, tensor.ndim, tensor.size, tensor.dtype, tensor.type_name) == (None, 0, -1, None, None)
    assert (tensor.nbytes, tensor.capacity, tensor.itemsize) == (0, 0, 0)
    assert not tensor.shares_data and not tensor.on_device
    assert repr(tensor) == "<Tensor without a type None, host, 0 of 0 bytes>"
    with pytest.raises(Error, match="shape"):
        tensor.data()
    with pytest.raises(Error, match="shape"):
        tensor.mutable_data("f4")


def test_memory_comes_with_the_first_mutable_data_as_zeros() -> None:
    tensor = Tensor((2, 3))
    assert (tensor.shape, tensor.size, tensor.capacity) == ((2, 3), 6, 0)
    with pytest.raises(Error, match="memory"):
        tensor.data()
    with pytest.raises(Error, match="type"):
        tensor.mutable_data()
    array = tensor.mutable_data(np.float32)
    assert array.shape == (2, 3) and array.dtype == np.float32 and not array.any()
    assert array.ctypes.data % 32 == 0
    array[1, 2] = 7
    assert tensor.data()[1, 2] == 7
    assert (tensor.dtype, tensor.type_name) == (np.dtype("f4"), "float32")
    assert (tensor.itemsize, tensor.nbytes, tensor.capacity) == (4, 24, 24)
    assert repr(tensor) == "<Tensor float32 (2, 3), host, 24 of 24 bytes>"


def test_every_element_type_has_its_dtype_and_others_are_refused() -> None:
    for dtype in ("f4", "f8", "f2", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "?"):
        tensor = Tensor(2)
        tensor.mutable_data(dtype)[:] = [0, 1]
        assert tensor.dtype == np.dtype(dtype) and tensor.data().tolist() == [0, 1]
        assert not tensor.data().flags.writeable
    for dtype in ("c8", "u8", "O", "M8[s]", ">f4"):
        with pytest.raises(TypeError, match="no items of"):
            Tensor(2).mutable_data(dtype)


def test_shapes_change_by_numbers_or_one_shape() -> None:
    tensor = counting(2, 3)
    tensor.reshape(3, 2)
    tensor.shrink(2)
    assert tensor.data().tolist() == [[0, 1], [2, 3]]
    tensor.extend(3, growth=200)
    assert (tensor.shape, tensor.capacity) == ((5, 2), 6 * 2 * 4)
    tensor.reserve((100, 2))
    tensor.resize((4, 1))
    assert (tensor.shape, tensor.capacity, tensor.data()[1, 0]) == ((4, 1), 800, 1)
    syncedmem.set_keep_on_shrink(False, 8)
    assert syncedmem.get_keep_on_shrink() == (False, 8)
    syncedmem.set_keep_on_shrink(True)
    tensor.free_memory()
    tensor.resize(())
    assert (tensor.shape, tensor.dtype, tensor.capacity, tensor.size) == ((), np.dtype("i4"), 0, 1)
    with pytest.raises(Error):
        tensor.shrink(4)
    with pytest.raises(ValueError):
        tensor.resize((-1,))


def test_a_copy_has_memory_of_its_own_and_a_share_has_not() -> None:
    source, copy, flat = counting(2, 3), Tensor(), Tensor(6)
    copy.copy_from(source)
    flat.share(source)
    source.mutable_data()[0, 0] = 8
    assert (copy.data()[0, 0], flat.data()[0], flat.shares_data, source.shares_data) == (0, 8, True, False)
    assert repr(flat).endswith(", shared>")
    copy.copy_from(np.arange(4, dtype="f4")[::-1])
    assert copy.data().tolist() == [3, 2, 1, 0]


def test_a_tensor_shares_the_memory_of_an_array_both_ways() -> None:
    array = np.arange(6, dtype="f4").reshape(2, 3)
    tensor = Tensor()
    tensor.share(array)
    assert (tensor.shape, tensor.dtype, tensor.shares_data) == ((2, 3), np.dtype("f4"), True)
    tensor.mutable_data()[0, 0] = 9
    array[1, 2] = 8
    assert array[0, 0] == 9 and tensor.data()[1, 2] == 8
    del array
    gc.collect()
    assert tensor.data()[1, 2] == 8


def test_shared_memory_is_returned_by_the_last_holder() -> None:
    class Lender(bytearray):
        pass

    lender = Lender(1000)
    lives = weakref.ref(lender)
    first, second = Tensor(), Tensor(1000)
    first.share(lender)
    assert first.dtype == np.uint8
    second.share(first)
    del lender, first
    gc.collect()
    assert lives() is not None and second.data()[999] == 0
    second.free_memory()
    gc.collect()
    assert lives() is None


def test_memory_that_cannot_be_shared_is_refused() -> None:
    tensor = counting(3)
    readonly = np.zeros(3)
    readonly.flags.writeable = False
    for array in (readonly, np.zeros((3, 3))[:, 1]):
        with pytest.raises(BufferError):
            tensor.share(array)
    with pytest.raises(TypeError, match="no items of"):
        tensor.share(np.zeros(3, "c8"))
    with pytest.raises(TypeError):
        tensor.share(object())
    assert tensor.data().tolist() == [0, 1, 2]


def test_a_tensor_is_neither_copied_nor_pickled_by_accident() -> None:
    with pytest.raises(TypeError, match="copy_from"):
        pickle.dumps(Tensor())


def test_a_tensor_goes_to_the_device_and_back(simulated: object) -> None:
    device, back = Tensor(device=True), Tensor()
    device.copy_from(counting(2, 3))
    assert device.on_device and device.__dlpack_device__()[0] == 2
    view = device.data()
    assert isinstance(view, DeviceArray) and view.shape == (2, 3) and view.readonly
    assert repr(device) == "<Tensor int32 (2, 3), device, 24 of 24 bytes>"
    back.copy_from(device)
    assert back.data().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="side"):
        back.share(device)


@pytest.mark.no_driver
def test_a_tensor_on_the_device_needs_a_driver() -> None:
    tensor = Tensor(8, device=True)
    with pytest.raises(Error, match="no GPU"):
        tensor.mutable_data("f4")
