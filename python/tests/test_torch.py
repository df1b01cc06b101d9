"""PyTorch on the CPU; scripts/python runs it in the environment of python/tests/pytorch."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest

import models
import syncedmem
from syncedmem import Blob, SyncedMemory

torch: Any = pytest.importorskip("torch")

# PyTorch asks for versioned capsules since about 2.9; an older capsule cannot be marked read-only.
KNOWS_VERSIONS = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (2, 9)
TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", TYPES)
def test_tensors_of_every_type_share_the_memory(dtype: str) -> None:
    view = SyncedMemory(96).array(dtype)
    view.mutable_cpu_data()[:] = 1
    tensor = torch.from_dlpack(view.mutable_cpu())
    assert tensor.data_ptr() == view.cpu_data().ctypes.data
    assert tensor.numpy().dtype == np.dtype(dtype) and bool((tensor == 1).all())


def test_a_blob_becomes_a_tensor_on_its_memory(alive: Callable[[], int]) -> None:
    blob = Blob((200, 300))
    tensor = blob.to_torch()
    tensor += 3
    assert tuple(tensor.shape) == (200, 300) and blob.data[199, 299] == 3
    blob.scale_data(2)
    del blob
    gc.collect()
    assert float(tensor[0, 0]) == 6 and alive() == 240000
    del tensor
    assert alive() == 0


def test_a_tensor_keeps_the_memory(alive: Callable[[], int]) -> None:
    tensor = torch.from_dlpack(SyncedMemory(65536).array("f4").mutable_cpu())
    part = tensor[100:200]
    del tensor
    gc.collect()
    assert alive() == 65536
    part += 1
    assert float(part.sum()) == 100
    del part
    assert alive() == 0


def test_the_memory_of_a_tensor_is_given_back_to_pytorch_when_the_last_lets_it_go() -> None:
    storage = torch.zeros(96, dtype=torch.uint8)
    address = storage.data_ptr()
    view = syncedmem.from_dlpack(storage)
    del storage
    gc.collect()
    array = view.mutable_cpu_data()
    del view
    gc.collect()
    array[:] = 3
    assert array.ctypes.data == address and int(array.sum()) == 288


@pytest.mark.parametrize(
    "tensor", ["torch.zeros(4, requires_grad=True)", "torch.zeros(4, dtype=torch.bfloat16)", "torch.zeros(2, 2).to_sparse()"]
)
def test_a_tensor_that_cannot_be_borrowed_is_an_error(tensor: str) -> None:
    with pytest.raises((BufferError, RuntimeError, TypeError, AttributeError)):
        syncedmem.from_dlpack(eval(tensor))


def test_a_models_blobs_are_tensors_that_keep_their_memory(tmp_path: Path) -> None:
    contents = models.LENET + models.layer("half", "Scale", [models.halves([1.5, -2])])
    (tmp_path / "a.caffemodel").write_bytes(contents)
    with syncedmem.open_caffemodel(tmp_path / "a.caffemodel") as model:
        tensors = model.to_torch()
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == {
        "conv1.0": (2, 1, 1, 2),
        "conv1.1": (2,),
        "ip/1.0": (1, 3),
        "half.0": (2,),
    }
    gc.collect()
    assert tensors["conv1.0"].flatten().tolist() == [1, 2, 3, 4]
    assert tensors["half.0"].dtype == torch.float16 and tensors["half.0"].tolist() == [1.5, -2]
    tensors["conv1.0"] += 1
    blob = syncedmem.load_caffemodel(tmp_path / "a.caffemodel")["ip/1"][0]
    tensor = blob.to_torch()
    assert tensor.data_ptr() == blob.data.cpu_data().ctypes.data and tensor.tolist() == [[1, 2, 3]]


def test_pytorchs_own_modules_load_a_model_that_was_saved_as_pt(tmp_path: Path) -> None:
    values = [models.blob([2], [3, -6]), models.blob([2], [12, 1.5]), models.blob([1], [3])]
    scale = [models.blob([2], [2, 3]), models.blob([2], [1, -1])]
    net = models.layer("bn", "BatchNorm", values) + models.layer("scale", "Scale", scale)
    (tmp_path / "a.caffemodel").write_bytes(models.LENET + net)
    with syncedmem.open_caffemodel(tmp_path / "a.caffemodel") as model:
        torch.save(model.to_torch(names="torch"), tmp_path / "a.pt")
        with pytest.raises(ValueError, match='names are "caffe" or "torch", and not .pytorch.'):
            model.to_torch(names="pytorch")  # type: ignore[arg-type]
    module = torch.nn.Module()
    module.conv1 = torch.nn.Conv2d(1, 2, (1, 2))
    module.bn = torch.nn.BatchNorm2d(2, affine=False).eval()
    state = torch.load(tmp_path / "a.pt")
    left = module.load_state_dict({name: state[name] for name in state if name.startswith(("conv1", "bn"))})
    assert not left.missing_keys and not left.unexpected_keys
    # Caffe's sums of means and of variances, divided by the factor.
    maps = torch.tensor([[[[2.0]], [[-2.0]]]])
    assert torch.allclose(module.bn(maps).flatten(), torch.tensor([0.5, 0.0]), atol=1e-3)
    assert module.conv1(torch.ones(1, 1, 1, 2)).flatten().tolist() == [3.5, 6.5]
    assert state["scale.weight"].tolist() == [2, 3] and state["scale.bias"].tolist() == [1, -1]
    assert tuple(state["ip/1.weight"].shape) == (1, 3)


@pytest.mark.parametrize("of", [lambda view: view, lambda view: view.cpu()], ids=["the view", "an access"])
def test_what_is_for_reading_alone_is_refused_or_read(of: Callable[[Any], Any]) -> None:
    view = SyncedMemory(96).array("f4")
    view.mutable_cpu_data()[:] = 1
    if KNOWS_VERSIONS:
        tensor = torch.from_dlpack(of(view))
        assert tensor.data_ptr() == view.cpu_data().ctypes.data
    else:
        with pytest.raises(BufferError, match="mutable_cpu"):
            torch.from_dlpack(of(view))
