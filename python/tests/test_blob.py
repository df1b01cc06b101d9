"""`Blob`: Caffe's shapes, data and diff in Python, with its rules and their mends."""

from __future__ import annotations

import gc
import threading
from typing import Any, Callable

import numpy as np
import pytest

import cuda
import syncedmem
from syncedmem import Blob, BlobArray, Head, SyncedArray

FLOATS = ["f4", "f8"]


def counted(shape: Any, dtype: Any = "f4") -> Blob:
    """A blob whose data counts from 0."""
    blob = Blob(shape, dtype)
    blob.data[...] = np.arange(blob.count).reshape(blob.shape)
    return blob


# --- shapes -----------------------------------------------------------------------------------------


def test_a_blob_says_what_it_is() -> None:
    blob = Blob((2, 3, 4, 5))
    assert (blob.shape, blob.count) == ((2, 3, 4, 5), 120) and blob.dtype == np.float32
    assert (blob.num, blob.channels, blob.height, blob.width) == (2, 3, 4, 5)
    assert blob.shape_string() == "2 3 4 5 (120)"
    assert "float32" in repr(blob) and "UNINITIALIZED" in repr(blob)


def test_without_a_shape_there_is_no_memory() -> None:
    blob = Blob()
    assert (blob.shape, blob.count, blob.shape_string(), repr(blob)) == ((), 0, "(0)", "<Blob float32 (0)>")
    with pytest.raises(syncedmem.Error, match="reshape"):
        blob.data
    assert blob.asum_data() == 0
    blob.reshape(3)
    assert blob.data[...].tolist() == [0, 0, 0]


def test_a_shape_of_no_axes_has_one_element() -> None:
    blob = Blob(())
    blob.data[()] = 2
    assert blob.count == 1 and blob.data[()] == 2 and blob.num == 1


@pytest.mark.parametrize("shape", [(0,), (0, 5), (3, 0, 2)])
def test_a_dimension_may_be_0(shape: Any) -> None:
    blob = Blob(shape)
    assert blob.count == 0 and blob.data[...].shape == shape and blob.asum_data() == 0


def test_legacy_axes_that_are_missing_are_1_and_more_than_four_are_refused() -> None:
    assert (Blob((7, 8)).channels, Blob((7, 8)).width) == (8, 1)
    with pytest.raises(ValueError):
        Blob((1,) * 5).num


def test_reshape_takes_numbers_or_one_shape() -> None:
    blob = Blob(4)
    assert blob.shape == (4,)
    blob.reshape(2, 3)
    assert blob.shape == (2, 3)
    blob.reshape([3, np.int64(2)])
    assert blob.shape == (3, 2)
    blob.reshape_like(Blob((1, 6)))
    assert blob.shape == (1, 6)


@pytest.mark.parametrize("shape", [(-1,), (2**16, 2**16), (2**32 + 3,), (2**70,), (1,) * 33])
def test_a_shape_that_is_refused_changes_nothing(shape: Any) -> None:
    blob = counted((2, 3))
    data = blob.data.memory
    with pytest.raises(ValueError):
        blob.reshape(shape)
    assert blob.shape == (2, 3) and blob.data.memory is data and blob.data[1, 2] == 5


@pytest.mark.parametrize("dtype", ["f2", "i8", "u1", "?", "c8", ">f4", "O"])
def test_another_dtype_is_a_type_error(dtype: str) -> None:
    with pytest.raises(TypeError, match="float32"):
        Blob((2,), dtype)


def test_an_offset_is_that_of_c_order() -> None:
    blob = Blob((2, 3, 4, 5))
    assert (blob.offset(1, 2, 3, 4), blob.offset(1), blob.offset()) == (119, 60, 0)
    for indices in [(2,), (0, -1), (0, 0, 0, 0, 0), (2**64,)]:
        with pytest.raises(ValueError):
            blob.offset(*indices)


# --- data and diff ----------------------------------------------------------------------------------


def test_data_is_a_view_that_reads_and_writes() -> None:
    blob = Blob((2, 3))
    assert isinstance(blob.data, BlobArray) and isinstance(blob.data, SyncedArray)
    blob.data[...] = [[1, 2, 3], [4, 5, 6]]
    blob.diff[:, 0] = 7
    assert blob.data[1].tolist() == [4, 5, 6] and blob.diff[0, 0] == 7
    assert len(blob.data) == 2 and [row.sum() for row in blob.data] == [6, 15]
    assert np.asarray(blob.data).sum() == 21 and blob.data.shape == (2, 3)


def test_reading_does_not_move_the_head() -> None:
    blob = counted((4,))
    memory = blob.data.memory
    assert memory.head is Head.HEAD_AT_CPU
    untouched = blob.diff.memory
    assert untouched.head is Head.UNINITIALIZED
    blob.diff
    assert untouched.head is Head.UNINITIALIZED


def test_what_is_read_is_read_only() -> None:
    blob = counted((4,))
    with pytest.raises(ValueError):
        blob.data[...][0] = 1
    with pytest.raises(ValueError):
        blob.data[1:][0] = 1


def test_data_that_is_the_same_memory_shows_the_same_object() -> None:
    blob = Blob((4,))
    assert blob.data.memory is blob.data.memory and blob.data.memory is not blob.diff.memory


def test_the_memory_of_a_blob_cannot_be_closed() -> None:
    blob = counted((4,))
    with pytest.raises(BufferError, match="Blob"):
        blob.data.memory.close()
    assert blob.data[3] == 3


def test_a_view_outlives_its_blob(alive: Callable[[], int]) -> None:
    view = counted((20000,)).data
    gc.collect()
    assert view[19999] == 19999 and view.memory.head is Head.HEAD_AT_CPU
    view[0] = 5
    assert view[0] == 5
    array = view[...]
    del view
    gc.collect()
    assert array[0] == 5
    del array
    assert alive() == 0


def test_a_view_of_former_memory_stays_valid(alive: Callable[[], int]) -> None:
    blob = counted((20000,))
    view, array = blob.data, blob.data.mutable_cpu_data()
    blob.reshape(30000)
    assert blob.data[0] == 0 and view[19999] == 19999
    view[0] = 8
    assert array[0] == 8 and blob.data[0] == 0
    del view, array, blob
    assert alive() == 0


# --- capacity ---------------------------------------------------------------------------------------


def test_within_the_capacity_memory_and_contents_stay() -> None:
    blob = counted((4, 5))
    memory = blob.data.memory
    blob.reshape(2, 3)
    blob.reshape(20)
    assert blob.data.memory is memory and blob.data[19] == 19


def test_capacity_is_that_of_the_memory_now_shared() -> None:
    small, blob = Blob((4,)), Blob((100,))
    blob.diff[99] = 7
    blob.reshape(4)
    blob.share_data(small)
    blob.reshape(100)
    assert blob.data.memory.nbytes == 400 and blob.data.memory is not small.data.memory
    assert blob.diff[99] == 7


# --- sharing and copies -----------------------------------------------------------------------------


def test_shared_memory_is_one_object() -> None:
    one, two = counted((2, 3)), Blob((6,))
    two.share_data(one)
    assert two.data.memory is one.data.memory and two.diff.memory is not one.diff.memory
    two.data[5] = 9
    assert one.data[1, 2] == 9
    two.share_diff(one)
    assert two.diff.memory is one.diff.memory


def test_shared_memory_outlives_the_first_blob() -> None:
    one, two = counted((6,)), Blob((6,))
    two.share_data(one)
    del one
    gc.collect()
    assert two.data[5] == 5


def test_another_count_or_dtype_is_not_shared() -> None:
    blob = counted((6,))
    for other in [Blob((5,)), Blob((6,), "f8")]:
        with pytest.raises(ValueError):
            blob.share_data(other)
    with pytest.raises(syncedmem.Error):
        Blob().share_data(Blob())
    assert blob.data[5] == 5


def test_another_object_is_a_type_error() -> None:
    other: Any = np.zeros(6)
    calls: list[Callable[[Blob], None]] = [Blob((6,)).share_data, Blob((6,)).share_diff, Blob((6,)).copy_from]
    for call in calls:
        with pytest.raises(TypeError, match="Blob"):
            call(other)


def test_a_copy_has_memory_of_its_own() -> None:
    source, copy = counted((2, 3)), Blob((2, 3))
    copy.copy_from(source)
    assert copy.data[1, 2] == 5 and copy.data.memory is not source.data.memory
    assert copy.diff.memory.head is Head.UNINITIALIZED
    source.diff[0, 0] = 4
    copy.copy_from(source, diff=True)
    assert copy.diff[0, 0] == 4


def test_a_copy_of_another_shape_needs_reshape() -> None:
    source, copy = counted((2, 3)), Blob((3, 2))
    with pytest.raises(ValueError):
        copy.copy_from(source)
    copy.copy_from(source, reshape=True)
    assert copy.shape == (2, 3) and copy.data[1, 2] == 5
    with pytest.raises(ValueError):
        copy.copy_from(Blob((7,), "f8"), reshape=True)
    with pytest.raises(syncedmem.Error):
        copy.copy_from(Blob(), reshape=True)
    assert copy.shape == (2, 3)


# --- mathematics ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_and_scaling(dtype: str) -> None:
    blob = Blob((3, 5), dtype)
    assert (blob.asum_data(), blob.sumsq_diff()) == (0, 0)
    blob.scale_data(2)
    assert blob.data.memory.head is Head.UNINITIALIZED
    blob.data[...] = -2
    blob.diff[...] = 0.5
    assert (blob.asum_data(), blob.sumsq_data()) == (30, 60)
    assert (blob.asum_diff(), blob.sumsq_diff()) == (7.5, 3.75)
    blob.scale_data(3)
    blob.scale_diff(4)
    assert blob.data[0, 0] == -6 and blob.diff[2, 4] == 2


@pytest.mark.parametrize("dtype", FLOATS)
def test_update_subtracts_the_diff(dtype: str) -> None:
    blob = counted((4,), dtype)
    blob.diff[...] = 1
    blob.update()
    assert blob.data[...].tolist() == [-1, 0, 1, 2]


def test_update_of_untouched_data_is_an_error() -> None:
    with pytest.raises(syncedmem.Error) as caught:
        Blob((4,)).update()
    assert caught.value.status is syncedmem.Status.INVALID_STATE


@pytest.mark.parametrize("dtype", ["i4", "u4"])
def test_integers_have_no_mathematics(dtype: str) -> None:
    blob = counted((4,), dtype)
    assert blob.data[3] == 3
    calls: list[Callable[[], object]] = [blob.update, blob.asum_data, blob.sumsq_data, lambda: blob.scale_data(2)]
    for call in calls:
        with pytest.raises(syncedmem.Error) as caught:
            call()
        assert caught.value.status is syncedmem.Status.UNSUPPORTED


def test_only_the_shape_is_summed_and_not_the_capacity() -> None:
    blob = Blob((6,))
    blob.data[...] = 1
    blob.reshape(2)
    assert blob.asum_data() == 2
    blob.scale_data(3)
    blob.reshape(6)
    assert blob.data[...].tolist() == [3, 3, 1, 1, 1, 1]


# --- other libraries, threads -----------------------------------------------------------------------


def test_dlpack_shares_the_memory() -> None:
    blob = Blob((2, 3))
    shared = np.from_dlpack(blob.data.mutable_cpu())
    shared[1, 2] = 4
    assert blob.data[1, 2] == 4


def test_numpy_memory_is_borrowed_by_the_memory_of_the_data() -> None:
    blob = Blob((2, 3))
    mine = np.ones((2, 3), np.float32)
    blob.data.memory.set_cpu_data(mine)
    blob.scale_data(5)
    assert (mine == 5).all()


def test_a_blob_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="copy_from"):
        Blob((2,)).__reduce__()


def test_threads_share_blobs_in_any_order() -> None:
    one, two = counted((1000,)), counted((1000,))

    def work(mine: Blob, other: Blob) -> None:
        for _ in range(200):
            mine.share_data(other)
            mine.copy_from(other, diff=True)
            mine.reshape(1000)
            assert mine.asum_data() == 499500

    threads = [threading.Thread(target=work, args=pair) for pair in [(one, two), (two, one), (one, two)]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.data.memory is two.data.memory


# --- the device -------------------------------------------------------------------------------------


def test_reading_on_the_host_leaves_the_device_current(simulated: cuda.Driver) -> None:
    blob = counted((4,))
    blob.data.mutable_gpu_data()
    assert blob.data[3] == 3
    assert blob.data.memory.head is Head.SYNCED
    memory = blob.data.memory
    blob.data[0] = 1
    assert memory.head is Head.HEAD_AT_CPU


def test_math_takes_what_is_on_the_device(simulated: cuda.Driver) -> None:
    blob = counted((4,))
    blob.data.mutable_gpu_data()
    before = syncedmem.blobs_computed_on_host()
    assert blob.asum_data() == 6
    # No machine of the tests has a cuBLAS for the simulated driver.
    assert syncedmem.blobs_computed_on_host() == before + 1
    blob.scale_data(2)
    assert blob.data[3] == 6


def test_a_copy_is_made_where_the_source_is(simulated: cuda.Driver) -> None:
    source, copy = counted((4,)), Blob((4,))
    source.data.mutable_gpu_data()
    copy.copy_from(source)
    assert copy.data.memory.head is Head.HEAD_AT_GPU and source.data.memory.head is Head.HEAD_AT_GPU
    assert copy.data[3] == 3
