"""In a real pycaffe that runs on this library: the package sees Caffe's own blobs, and shares their memory."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path
from typing import Callable

import pytest

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
    """Runs a program in Caffe's own Python, with Caffe on the library; returns what it prints."""

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
            timeout=60,
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
assert "caffe::InputLayer<float>::LayerSetUp" in syncedmem.report()
syncedmem.trim()
assert blob.data[63, 1023] == 3
# The other way round: a SyncedMemory of Python's on the blob's memory.
mem = syncedmem.SyncedMemory(64 * 1024 * 4)
mem.set_cpu_data(blob.data)
view = mem.array("f4", (64, 1024))
assert view.cpu_data().ctypes.data == blob.data.ctypes.data
view.mutable_cpu_data()[5, 5] = 7
assert blob.data[5, 5] == 7
with syncedmem.trace("trace.json"):
    net.forward()
"""
    )
    assert said.splitlines() == [os.environ["SYNCEDMEM_TEST_LIBRARY"], str(64 * 1024 * 4)]


def test_beside_a_caffe_that_runs_on_its_own_memory_nothing_is_seen_of_it(pycaffe: Callable[..., str]) -> None:
    said = pycaffe(
        """
syncedmem.set_accounting(syncedmem.Accounting.ON)
"""
        + NET
        + """
blob.data[...] = 3
print(syncedmem.stats().objects_made)
array = syncedmem.SyncedMemory(4096).mutable_cpu_data()
array[:] = 1
assert blob.data[0, 0] == 3
""",
        preload=False,
    )
    assert said == "0\n"
