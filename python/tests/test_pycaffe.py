"""A real pycaffe on this library: the package accounts for Caffe's blobs, and shares their memory."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path
from typing import Callable

import pytest

from conftest import HANGS_AFTER

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif("SYNCEDMEM_TEST_PYCAFFE" not in os.environ, reason="scripts/python says where pycaffe is"),
]

BEGIN = """
import numpy as np
import caffe
import syncedmem
with open("net.prototxt", "w") as out:
    out.write('layer { name: "in" type: "Input" top: "in" input_param { shape { dim: 64 dim: 1024 } } }')
"""
NET = 'net = caffe.Net("net.prototxt", caffe.TEST); blob = net.blobs["in"]\n'


@pytest.fixture
def pycaffe(tmp_path: Path) -> Callable[..., str]:
    """Runs a program in Caffe's Python, with Caffe on the library; returns its output."""

    def run(text: str, preload: bool = True) -> str:
        site = tmp_path / "site"
        with zipfile.ZipFile(os.environ["SYNCEDMEM_TEST_WHEEL"]) as wheel:
            wheel.extractall(site)
        library = os.environ["SYNCEDMEM_TEST_LIBRARY"]
        paths = [str(site), os.environ["SYNCEDMEM_TEST_PYCAFFE"], os.environ["real_caffe_python_path"]]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("LD_", "SYNCEDMEM_"))},
            "LD_LIBRARY_PATH": os.environ["real_caffe_library_path"],
            "PYTHONHOME": os.environ["real_caffe_python_home"],
            "PYTHONPATH": ":".join(paths),
            "MPLCONFIGDIR": str(tmp_path),
            "GLOG_minloglevel": "2",
            **({"LD_PRELOAD": library} if preload else {}),
        }
        done = subprocess.run(
            [os.environ["real_caffe_python"], "-B", "-c", BEGIN + text],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANGS_AFTER,
        )
        assert done.returncode == 0 and done.stderr == "", f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


def test_the_package_uses_the_library_that_caffe_runs_on_and_sees_its_blobs(pycaffe: Callable[..., str]) -> None:
    said = pycaffe(
        """
syncedmem.set_accounting(syncedmem.Accounting.ON)
"""
        + NET
        + """
before = syncedmem.stats()
blob.data[...] = 3
after = syncedmem.stats()
print(syncedmem.library_path())
print(after.pageable.live - before.pageable.live)
syncedmem.trim()
assert blob.data[63, 1023] == 3
# The other way round: a SyncedMemory of Python's on the blob's memory.
mem = syncedmem.SyncedMemory(64 * 1024 * 4)
mem.set_cpu_data(blob.data)
view = mem.array("f4", (64, 1024))
assert view.cpu_data().ctypes.data == blob.data.ctypes.data
view.mutable_cpu_data()[5, 5] = 7
assert blob.data[5, 5] == 7
with syncedmem.trace("trace"):
    net.forward()
"""
    )
    assert said.splitlines() == [os.environ["SYNCEDMEM_TEST_LIBRARY"], str(64 * 1024 * 4)]


TRAINED = """
with open("net.prototxt", "w") as out:
    out.write('''
        layer { name: "in" type: "DummyData" top: "x" top: "y" dummy_data_param {
          shape { dim: 8 dim: 3 dim: 9 dim: 9 } shape { dim: 8 }
          data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 1 } } }
        layer { name: "conv/1" type: "Convolution" bottom: "x" top: "c" convolution_param {
          num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
        layer { name: "norm" type: "BatchNorm" bottom: "c" top: "c" }
        layer { name: "ip" type: "InnerProduct" bottom: "c" top: "p" inner_product_param {
          num_output: 4 weight_filler { type: "xavier" } } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "p" bottom: "y" top: "loss" }''')
with open("solver.prototxt", "w") as out:
    out.write('net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" momentum: 0.9 max_iter: 3 snapshot: 3 '
              'snapshot_prefix: "net" snapshot_diff: true solver_mode: CPU random_seed: 7')
solver = caffe.get_solver("solver.prototxt")
solver.solve()
"""


def test_a_trained_model_and_its_solvers_state_are_what_pycaffe_has(pycaffe: Callable[..., str]) -> None:
    said = pycaffe(
        TRAINED
        + """
loaded = syncedmem.load_caffemodel("net_iter_3.caffemodel")
assert list(loaded) == list(solver.net.params)
for name, params in solver.net.params.items():
    for blob, param in zip(loaded[name], params):
        assert blob.data[...].tobytes() == param.data.tobytes()
        assert blob.diff[...].tobytes() == param.diff.tobytes()
from caffe.proto import caffe_pb2
state = caffe_pb2.SolverState()
state.ParseFromString(open("net_iter_3.solverstate", "rb").read())
ours = syncedmem.load_solverstate("net_iter_3.solverstate")
assert (ours.iter, ours.current_step, ours.learned_net) == (3, state.current_step, state.learned_net)
assert [blob.data[...].ravel().tolist() for blob in ours.history] == [list(blob.data) for blob in state.history]
mean = caffe.io.array_to_blobproto(np.arange(6, dtype="f4").reshape(1, 3, 1, 2))
open("mean.binaryproto", "wb").write(mean.SerializeToString())
ours = syncedmem.load_binaryproto("mean.binaryproto")
assert np.array_equal(ours.data[...], caffe.io.blobproto_to_array(mean))
# The other way round.
ours.data[...] = ours.data[...] * 2
syncedmem.save_binaryproto("twice.binaryproto", ours)
read = caffe_pb2.BlobProto()
read.ParseFromString(open("twice.binaryproto", "rb").read())
assert np.array_equal(caffe.io.blobproto_to_array(read), ours.data[...])
print(sum(blob.count for blobs in loaded.values() for blob in blobs))
"""
    )
    assert int(said) > 1000


def test_opencv_onnx_and_caffe_with_their_protobufs_are_in_the_same_process(pycaffe: Callable[..., str]) -> None:
    said = pycaffe(
        """
import cv2
import onnx
"""
        + TRAINED
        + """
loaded = syncedmem.load_caffemodel("net_iter_3.caffemodel")
net = cv2.dnn.readNetFromCaffe("net.prototxt", "net_iter_3.caffemodel")
assert np.array_equal(net.getParam("ip", 0), loaded["ip"][0].data[...])
model = onnx.helper.make_tensor("ip", onnx.TensorProto.FLOAT, loaded["ip"][1].shape, loaded["ip"][1].data[...])
assert list(model.float_data) == loaded["ip"][1].data[...].tolist()
print("ok")
"""
    )
    assert said == "ok\n"
