"""Model files: opened, loaded, and saved in other formats."""

from __future__ import annotations

import importlib
import os
import threading
from pathlib import Path
from typing import Any, Callable
from urllib.parse import unquote_to_bytes

import numpy as np
import pytest

import models
import syncedmem
from syncedmem._model_torch import doubts, named_arrays

pytestmark = pytest.mark.once

Writes = Callable[..., Path]


@pytest.fixture
def writes(tmp_path: Path) -> Writes:
    """Writes a model file."""

    def write(contents: bytes = models.LENET, name: str = "lenet.caffemodel") -> Path:
        (tmp_path / name).write_bytes(contents)
        return tmp_path / name

    return write


def test_layers_are_listed_and_found_by_name(writes: Writes) -> None:
    with syncedmem.open_caffemodel(writes()) as model:
        assert (model.name, model.kind, model.iter, model.learned_net) == ("LeNet", syncedmem.ModelKind.NET, 0, "")
        assert [layer.name for layer in model.layers] == ["data", "conv1", "ip/1"]
        assert "conv1" in model and "conv2" not in model
        conv1 = model["conv1"]
        assert (conv1.index, conv1.type, len(conv1.blobs)) == (1, "Convolution", 2)
        weights = conv1.blobs[0]
        assert (weights.shape, weights.dtype, weights.size, weights.nbytes) == ((2, 1, 1, 2), np.dtype("f4"), 4, 16)
        assert not weights.has_diff and model["ip/1"].blobs[0].has_diff
        assert [name for name, _ in model.blobs()] == ["conv1.0", "conv1.1", "ip/1.0"]
        assert repr(model).endswith("lenet.caffemodel': NET, 3 layers>")
        assert model._repr_html_().count("<tr>") == 4 and "&lt;CaffeModel" in model._repr_html_()
        with pytest.raises(KeyError):
            model["conv2"]


def test_values_are_read_when_they_are_asked_for(writes: Writes) -> None:
    with syncedmem.open_caffemodel(writes()) as model:
        array = model["ip/1"].blobs[0].read()
        assert array.memory.head == syncedmem.Head.HEAD_AT_CPU
        assert array.cpu_data().tolist() == [[1, 2, 3]]
        assert model["ip/1"].blobs[0].read(np.float64, diff=True).cpu_data().tolist() == [[4, 5, 6]]
        with pytest.raises(TypeError, match="values are not read as complex64"):
            model["ip/1"].blobs[0].read(np.complex64)
    assert array.cpu_data().dtype == np.float32, "what was read stays"


def test_a_model_that_is_closed_says_so(writes: Writes) -> None:
    model = syncedmem.open_caffemodel(writes())
    blob = model["conv1"].blobs[0]
    model.close()
    model.close()
    assert model.closed and model.layers[1].name == "conv1"
    with pytest.raises(ValueError, match="lenet.caffemodel was closed.*; open it again"):
        blob.read()
    with pytest.raises(ValueError, match="lenet.caffemodel was closed.*; open it again"):
        with model:
            pass


def test_a_model_ends_with_its_last_reference_and_a_blob_is_one(writes: Writes) -> None:
    model = syncedmem.open_caffemodel(writes())
    files = len(os.listdir("/proc/self/fd"))
    blob = model["conv1"].blobs[1]
    del model
    assert blob.read().cpu_data().tolist() == [0.5, -0.5]
    del blob
    assert len(os.listdir("/proc/self/fd")) == files - 1


def test_a_file_that_cannot_be_read_raises_the_librarys_sentence(writes: Writes, tmp_path: Path) -> None:
    with pytest.raises(syncedmem.Error, match="is a folder") as raised:
        syncedmem.open_caffemodel(tmp_path)
    assert raised.value.status == syncedmem.Status.FILE
    with pytest.raises(ValueError, match="NUL"):
        syncedmem.open_caffemodel("a\0b")
    model = syncedmem.open_caffemodel(writes(models.layer("a", "Scale", [models.blob([3], [1])]), "short.caffemodel"))
    with pytest.raises(syncedmem.Error, match='layer 0 "a", blob 0: its data has 1 values, and its shape 3 needs 3'):
        model["a"].blobs[0].read()


def test_names_that_occur_twice_are_refused_only_where_both_have_blobs(writes: Writes) -> None:
    one = models.blob([1], [1])
    twice = models.layer("a", "Scale", [one]) + models.layer("a", "ReLU") + models.layer("b", "Scale", [one])
    path = writes(twice)
    assert list(syncedmem.load_caffemodel(path)) == ["a", "b"]
    with syncedmem.open_caffemodel(path) as model:
        assert model["a"].type == "Scale"
    path = writes(twice + models.layer("b", "Scale", [one]))
    with pytest.raises(ValueError, match="two layers with blobs are called 'b'; use model.layers"):
        syncedmem.load_caffemodel(path)
    with syncedmem.open_caffemodel(path) as model, pytest.raises(ValueError, match="2 layers with blobs"):
        model["b"]


GBK = "\u5377\u79ef".encode("gbk")


def test_names_of_any_bytes_are_found_and_give_their_bytes(writes: Writes) -> None:
    names = [GBK, "\u7532".encode("gbk"), "\u5377".encode(), b"100%", b"%BE", b"a\0b"]
    path = writes(b"".join(models.layer(name, "Scale", [models.blob([1], [number])]) for number, name in enumerate(names)))
    with syncedmem.open_caffemodel(path) as model:
        found = [layer.name for layer in model.layers]
        assert found == ["%BE%ED%BB%FD", "%BC%D7", "\u5377", "100%", "%25BE", "a%00b"]
        assert [unquote_to_bytes(name) for name in found] == names
        assert model["%BC%D7"].index == 1 and len(dict(model.blobs())) == len(names)
        model.save_npz(path.with_suffix(".npz"))
        assert np.load(path.with_suffix(".npz")).files == [name for name, _ in model.blobs()]
    assert list(syncedmem.load_caffemodel(path)) == found


def test_a_model_is_loaded_as_blobs_with_data_and_diff(writes: Writes) -> None:
    loaded = syncedmem.load_caffemodel(writes())
    assert {name: [blob.shape for blob in blobs] for name, blobs in loaded.items()} == {"conv1": [(2, 1, 1, 2), (2,)], "ip/1": [(1, 3)]}
    ip1 = loaded["ip/1"][0]
    assert (ip1.data[...].tolist(), ip1.diff[...].tolist()) == ([[1, 2, 3]], [[4, 5, 6]])
    assert loaded["conv1"][0].diff.memory.head == syncedmem.Head.UNINITIALIZED


def test_doubles_stay_doubles_and_halves_become_floats_in_a_blob(writes: Writes) -> None:
    contents = models.layer("a", "Scale", [models.blob([1], [0.1], kind="d"), models.halves([1.5, -2])])
    doubles, floats = syncedmem.load_caffemodel(writes(contents))["a"]
    assert (doubles.dtype, doubles.data[0]) == (np.dtype("f8"), 0.1)
    assert (floats.dtype, floats.data[...].tolist()) == (np.dtype("f4"), [1.5, -2])
    with syncedmem.open_caffemodel(writes(contents)) as model:
        assert model["a"].blobs[1].read().cpu_data().dtype == np.float16


def test_a_solvers_state_is_loaded(writes: Writes) -> None:
    contents = models.number(1, 500) + models.field(2, "net_500.caffemodel") + models.number(4, 3)
    contents += models.field(3, models.blob([2], [1, 2])) + models.field(3, models.blob([1], [3]))
    state = syncedmem.load_solverstate(writes(contents, "net_500.solverstate"))
    assert (state.iter, state.current_step, state.learned_net) == (500, 3, "net_500.caffemodel")
    assert [blob.data[...].tolist() for blob in state.history] == [[1, 2], [3]]
    with pytest.raises(ValueError, match="is no .solverstate: it is of the kind NET"):
        syncedmem.load_solverstate(writes())


def test_a_mean_image_is_loaded_and_saved(writes: Writes, tmp_path: Path) -> None:
    mean = syncedmem.load_binaryproto(writes(models.blob([1, 3, 1, 1], [104, 117, 123]), "mean.binaryproto"))
    assert (mean.shape, mean.data[0, :, 0, 0].tolist()) == ((1, 3, 1, 1), [104, 117, 123])
    mean.data[...] = 7
    mean.diff[...] = 8
    syncedmem.save_binaryproto(tmp_path / "new.binaryproto", mean, diff=True)
    again = syncedmem.load_binaryproto(tmp_path / "new.binaryproto", np.float64)
    assert (again.dtype, again.data[0, 2, 0, 0], again.diff[0, 0, 0, 0]) == (np.dtype("f8"), 7, 8)
    with pytest.raises(syncedmem.Error, match="is no file of one blob"):
        syncedmem.load_binaryproto(writes())


def test_a_model_is_saved_in_the_formats_that_the_command_writes(
    writes: Writes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(writes().parent)
    with syncedmem.open_caffemodel("lenet.caffemodel") as model:
        monkeypatch.chdir("/")
        model.save_npz(tmp_path / "lenet.npz", names="torch")
        model.save_safetensors(os.fsencode(tmp_path / "lenet.safetensors"))
        for name in ("no/lenet.npz", "lenet.caffemodel/x"):
            with pytest.raises(ValueError, match=f"{name} cannot be written"):
                model.save_npz(tmp_path / name)
        expected = {"conv1.weight": [[[[1, 2]]], [[[3, 4]]]], "conv1.bias": [0.5, -0.5], "ip/1.weight": [[1, 2, 3]]}
    with pytest.raises(ValueError, match="was closed"):
        model.save_npz(tmp_path / "again.npz")
    with np.load(tmp_path / "lenet.npz") as archive:
        assert {name: archive[name].tolist() for name in archive.files} == expected
    assert b"conv1.1" in (tmp_path / "lenet.safetensors").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["lenet.caffemodel", "lenet.npz", "lenet.safetensors"]


def test_arrays_under_pytorchs_names_are_those_that_the_command_writes(writes: Writes, tmp_path: Path) -> None:
    mean, var, one = models.blob([2], [3, -6]), models.blob([2], [12, 1.5]), models.blob([1], [1])
    contents = models.LENET + b"".join(
        [
            models.layer("fc", "InnerProduct", [models.blob([3, 2], range(6))], models.field(117, models.number(6, 1))),
            models.layer("bn", "BatchNorm", [mean, var, models.blob([1], [3])]),
            models.layer("bnh", "BatchNorm", [models.halves([1, 2]), models.halves([3, 4]), models.blob([1], [4])]),
            models.layer("bnh1", "BatchNorm", [models.halves([1, 2]), models.halves([3, 4]), one]),
            models.layer("bn5", "BatchNorm", [mean, var, one, mean, var]),
            models.layer("bn0", "BatchNorm", [mean, var, models.blob([1], [0])]),
            models.layer("pr", "PReLU", [models.blob([], [0.25])]),
            models.layer("gated", "Scale", [models.blob([2], [1, 2])], models.field(3, "x") + models.field(3, "y")),
            models.layer("rnn", "LSTM", [models.blob([1], [7])]),
        ]
    )
    with syncedmem.open_caffemodel(writes(contents)) as model:
        arrays = {name: array.cpu_data() for name, array in named_arrays(model, "torch")}
        with pytest.warns(UserWarning) as warned:
            model.save_npz(tmp_path / "torch.npz", names="torch")
    assert arrays["fc.weight"].tolist() == [[0, 2, 4], [1, 3, 5]] and arrays["pr.weight"].shape == (1,)
    assert arrays["bn.running_mean"].tolist() == [1, -2] and arrays["bn0.running_mean"].tolist() == [3, -6]
    assert {"bn5.weight", "bn5.bias", "gated.bias", "rnn.0"} < arrays.keys()
    with np.load(tmp_path / "torch.npz") as archive:
        assert sorted(archive.files) == sorted(arrays)
        for name, array in arrays.items():
            assert (array.dtype, array.shape) == (archive[name].dtype, archive[name].shape) and (archive[name] == array).all(), name
    with syncedmem.open_caffemodel(writes(contents)) as model:
        own = list(doubts(model))
    said = [str(each.message) for each in warned]
    assert len(own) == 2 and "bn0 (BatchNorm) has the factor 0" in own[0] and "rnn (LSTM) has blobs" in own[1]
    assert [line.partition(": ")[2][:40] for line in said] == [line.partition(": ")[2][:40] for line in own]
    assert {each.filename for each in warned} == {__file__}


def test_tensors_of_caffe2_have_the_names_that_are_saved(writes: Writes, tmp_path: Path) -> None:
    with syncedmem.open_caffemodel(writes(models.INIT_NET + models.QUANTIZED, "init_net.pb")) as model:
        arrays = {name: blob.read().cpu_data() for name, blob in model.blobs()}
        model.save_npz(tmp_path / "weights.npz")
    with np.load(tmp_path / "weights.npz") as archive:
        assert sorted(archive.files) == sorted(arrays)
        assert all((archive[name] == array).all() for name, array in arrays.items())
    quantized = [arrays[name] for name in ("w", "w.scale", "w.zero_point")]
    assert [(str(array.dtype), array.tolist()) for array in quantized] == [("uint8", [7, 8]), ("float32", 0.5), ("int32", 128)]


def test_a_pipe_is_neither_waited_for_nor_replaced(writes: Writes, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.caffemodel"
    os.mkfifo(pipe)
    for load in (syncedmem.load_caffemodel, syncedmem.load_solverstate):
        with pytest.raises(syncedmem.Error, match="is a folder, a pipe or a device"):
            load(pipe)
    assert pipe.is_fifo()


def test_threads_share_a_model_that_one_of_them_closes(writes: Writes) -> None:
    contents = models.layer("a", "Scale", [models.blob([1000], [number] * 1000) for number in range(8)])
    model = syncedmem.open_caffemodel(writes(contents))
    blobs = model["a"].blobs
    wrong: list[Any] = []

    def read() -> None:
        try:
            while True:
                for number, blob in enumerate(blobs):
                    if not (blob.read().cpu_data() == number).all():
                        wrong.append(number)
        except ValueError as error:
            if "closed" not in str(error):
                wrong.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    model.close()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_hdf5_files_are_read_with_groups_in_groups(tmp_path: Path) -> None:
    h5py: Any = importlib.import_module("h5py")
    with h5py.File(tmp_path / "net.caffemodel.h5", "w") as file:
        file["data/conv1/0"] = np.array([[1, 2]], "f4")
        file["data/conv1/1"] = np.array([3], "f8")
        file["data/inception/3a/0"] = np.array([4], "f4")
        file["diff/conv1/0"] = np.array([[5, 6]], "f4")
        file.create_group("data/relu1")
    loaded = syncedmem.load_caffemodel(tmp_path / "net.caffemodel.h5")
    assert {name: [blob.data[...].tolist() for blob in blobs] for name, blobs in loaded.items()} == {
        "conv1": [[[1, 2]], [3]],
        "inception/3a": [[4]],
    }
    assert loaded["conv1"][0].diff[...].tolist() == [[5, 6]]
    with h5py.File(tmp_path / "net.solverstate.h5", "w") as file:
        file["iter"] = np.array([7], "i4")
        file["current_step"] = np.array([2], "i4")
        file["learned_net"] = "net.caffemodel.h5"
        for number in range(12):
            file[f"history/{number}"] = np.array([number], "f4")
    state = syncedmem.load_solverstate(tmp_path / "net.solverstate.h5")
    assert (state.iter, state.current_step, state.learned_net) == (7, 2, "net.caffemodel.h5")
    assert [blob.data[0] for blob in state.history] == list(range(12))
    with pytest.raises(ValueError, match="no model that Caffe saved"):
        syncedmem.load_caffemodel(tmp_path / "net.solverstate.h5")


HDF5_OF_OTHERS: dict[str, dict[str, Any]] = {
    "values in the place of layers": {"data": np.zeros(3, "f4")},
    "a type that no blob has": {"data/a/0": np.zeros(3, "i8")},
    "a gradient of another shape": {"data/a/0": np.zeros(3, "f4"), "diff/a/0": np.zeros(5, "f4")},
    "a group in the place of a gradient": {"data/a/0": np.zeros(3, "f4"), "diff/a/0/0": np.zeros(3, "f4")},
    "a number that is none": {"data/a/²": np.zeros(3, "f4")},
    "a state without its number": {"iter": np.zeros(0, "i4"), "history/0": np.zeros(3, "f4")},
    "a group in the place of its number": {"iter/0": np.zeros(1, "i4"), "history/0": np.zeros(3, "f4")},
    "values in the place of its history": {"iter": 3, "history": np.zeros(3, "f4")},
}


@pytest.mark.parametrize("what", HDF5_OF_OTHERS)
def test_hdf5_that_is_not_as_caffe_saves_it_is_a_value_error(what: str, tmp_path: Path) -> None:
    h5py: Any = importlib.import_module("h5py")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        for name, values in HDF5_OF_OTHERS[what].items():
            file[name] = values
    load = syncedmem.load_solverstate if "iter" in "".join(HDF5_OF_OTHERS[what]) else syncedmem.load_caffemodel
    with pytest.raises(ValueError):
        load(tmp_path / "other.h5")
