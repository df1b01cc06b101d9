"""`Blob`: Caffe's shapes, data and diff in Python, with its rules."""

from __future__ import annotations

import threading
from typing import Any, Callable

import numpy as np
import pytest

import syncedmem
from syncedmem import Blob, BlobArray, SyncedArray


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
    assert blob._repr_html_().count("UNINITIALIZED</td>") == 2
    assert (blob.offset(1, 2, 3, 4), blob.offset(1), blob.offset()) == (119, 60, 0)
    with pytest.raises(ValueError):
        blob.offset(2)


def test_without_a_shape_there_is_no_memory() -> None:
    blob = Blob()
    assert (blob.shape, blob.count, blob.shape_string(), repr(blob)) == ((), 0, "(0)", "<Blob float32 (0)>")
    with pytest.raises(syncedmem.Error, match="reshape"):
        blob.data
    assert blob.asum_data() == 0
    blob.reshape(3)
    assert blob.data[...].tolist() == [0, 0, 0]


def test_reshape_takes_numbers_or_one_shape() -> None:
    blob = Blob(4)
    assert blob.shape == (4,)
    blob.reshape(2, 3)
    assert blob.shape == (2, 3)
    blob.reshape([3, np.int64(2)])
    assert blob.shape == (3, 2)
    blob.reshape_like(Blob((1, 6)))
    assert blob.shape == (1, 6)


@pytest.mark.parametrize("shape", [(-1,), (2**32 + 3,), (2**70,), (1,) * 33])
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


# --- data and diff ----------------------------------------------------------------------------------


def test_data_is_a_view_that_reads_and_writes() -> None:
    blob = Blob((2, 3))
    assert isinstance(blob.data, BlobArray) and isinstance(blob.data, SyncedArray)
    blob.data[...] = [[1, 2, 3], [4, 5, 6]]
    blob.diff[:, 0] = 7
    assert blob.data[1].tolist() == [4, 5, 6] and blob.diff[0, 0] == 7
    assert len(blob.data) == 2 and [row.sum() for row in blob.data] == [6, 15]
    assert np.asarray(blob.data).sum() == 21 and blob.data.shape == (2, 3)


def test_the_memory_of_a_blob_cannot_be_closed() -> None:
    blob = counted((4,))
    with pytest.raises(BufferError, match="Blob"):
        blob.data.memory.close()
    assert blob.data[3] == 3


# --- sharing and copies -----------------------------------------------------------------------------


def test_shared_memory_is_one_object() -> None:
    one, two = counted((2, 3)), Blob((6,))
    two.share_data(one)
    assert two.data.memory is one.data.memory and two.diff.memory is not one.diff.memory
    two.data[5] = 9
    assert one.data[1, 2] == 9
    two.share_diff(one)
    assert two.diff.memory is one.diff.memory


def test_another_object_is_a_type_error() -> None:
    other: Any = np.zeros(6)
    calls: list[Callable[[Blob], None]] = [Blob((6,)).share_data, Blob((6,)).share_diff, Blob((6,)).copy_from]
    for call in calls:
        with pytest.raises(TypeError, match="Blob"):
            call(other)


def test_a_copy_takes_the_shape_where_it_is_asked_to() -> None:
    source, copy = counted((2, 3)), Blob((3, 2))
    source.diff[0, 0] = 4
    with pytest.raises(ValueError):
        copy.copy_from(source)
    copy.copy_from(source, reshape=True)
    copy.copy_from(source, diff=True)
    assert copy.shape == (2, 3) and (copy.data[1, 2], copy.diff[0, 0]) == (5, 4)
    assert copy.data.memory is not source.data.memory


def test_math_is_that_of_the_array_that_is_named() -> None:
    blob = Blob((3, 5), "f8")
    blob.data[...] = -2
    blob.diff[...] = 0.5
    assert (blob.asum_data(), blob.sumsq_data(), blob.asum_diff(), blob.sumsq_diff()) == (30, 60, 7.5, 3.75)
    blob.scale_data(3)
    blob.scale_diff(4)
    blob.update()
    assert (blob.data[0, 0], blob.diff[2, 4]) == (-8, 2)
    with pytest.raises(syncedmem.Error) as caught:
        counted((4,), "i4").update()
    assert caught.value.status is syncedmem.Status.UNSUPPORTED


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
