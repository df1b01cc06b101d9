"""The interpreter ends without a message, whatever is alive, and native code may use tensors afterwards."""

from __future__ import annotations

import pytest

import cuda_driver
from conftest import Program, ended_well

pytestmark = pytest.mark.once

BEGIN = """
import atexit, ctypes, gc, os, sys, threading
import numpy as np
import syncedmem
from syncedmem import SyncedMemory
"""

ENDINGS = {
    "what only has to be there": """
from dlpack import Producer
syncedmem.trace_start('trace'); syncedmem.set_accounting(syncedmem.Accounting.ON)
mem = SyncedMemory(1 << 20, name='x'); mem.mutable_cpu_data()[:] = 1
array, part = SyncedMemory(1 << 20).mutable_cpu_data(), SyncedMemory(1 << 20).mutable_cpu_data()[5:]
capsule, consumer = SyncedMemory(1 << 20).mutable_cpu().__dlpack__(), np.from_dlpack(SyncedMemory(1 << 20).mutable_cpu())
versioned = SyncedMemory(1 << 20).array('f4').__dlpack__(max_version=(1, 0))
access = SyncedMemory(1 << 20).mutable_cpu(); entered = access.__enter__()
borrower, produced = SyncedMemory(64), SyncedMemory(64)
borrower.set_cpu_data(np.zeros(64, 'u1')); produced.set_cpu_data(Producer(bytes(64)))
import builtins; builtins.kept = SyncedMemory(1 << 20).mutable_cpu_data()
try:
    raise KeyError(SyncedMemory(1 << 20).mutable_cpu_data())
except KeyError as error:
    sys.kept = error""",
    "a cycle": """
class Uses:
    def __init__(self, *held):
        self.itself, self.held = self, held
    def __del__(self):
        mem, array, blob, tensor, workspace = self.held
        array[:] = 1; mem.head, mem.exports, mem.mutable_cpu_data()
        blob.reshape(1 << 16); blob.data[:] = 1
        tensor.resize(1 << 16); tensor.mutable_data()[:] = 1
        workspace["x"].mutable_data()[:] = 1
mem = SyncedMemory(1 << 20); workspace = syncedmem.Workspace(); workspace["x"] = np.ones(9)
node = [SyncedMemory(1 << 20)]; node += [node, node[0].mutable_cpu_data(), node[0].mutable_cpu().__dlpack__()]
Uses(mem, mem.mutable_cpu_data(), syncedmem.Blob(9), workspace["x"], workspace); del mem, workspace""",
    "an error in a finaliser after the end of the modules": """
import builtins
class Fails:
    def __init__(self):
        self.mem, self.error = SyncedMemory(8), syncedmem.Error
    def __del__(self):
        try:
            self.mem.release_cpu()
        except self.error as error:
            assert str(error).startswith("SyncedMemory.release_cpu: the host side")
builtins.kept = Fails()""",
    "a function that runs at the exit": """
mem = SyncedMemory(1 << 20); array = mem.mutable_cpu_data()
atexit.register(lambda: (array.fill(1), mem.cpu_data(), mem.exports, syncedmem.report(), syncedmem.trim()))""",
    "a thread that is waited for": """
mem = SyncedMemory(1 << 20); go_on = threading.Event()
def use():
    go_on.wait(); mem.mutable_cpu_data()[:] = 1
threading.Thread(target=use).start(); atexit.register(gc.collect); go_on.set()""",
    "a module that refers to the package": """
import types
module = sys.modules['later'] = types.ModuleType('later'); module.mem = SyncedMemory(64); module.array = module.mem.cpu_data()
sys.later = module""",
    "a tensor that native code ends after Python": """
from dlpack import consume
libc = ctypes.CDLL(None)
libc.__cxa_atexit.argtypes = [ctypes.c_void_p] * 3
mem = SyncedMemory(64); mem.set_cpu_data(np.zeros(64, 'u1'))
versioned = SyncedMemory(64).array('f4').__dlpack__(max_version=(1, 0))
for capsule in (SyncedMemory(1 << 20).mutable_cpu().__dlpack__(), versioned, mem.mutable_cpu().__dlpack__()):
    seen = consume(capsule)
    libc.__cxa_atexit(seen.deleter, seen.address, None)
del capsule, versioned, mem""",
    "a process that ends at once": "array = SyncedMemory(1 << 20).mutable_cpu_data(); sys.stdout.flush(); os._exit(0)",
}
ON_A_DEVICE = {
    "what only has to be there": """
syncedmem.set_pinning(syncedmem.Pinning.ALWAYS); pinned = SyncedMemory(1 << 20).mutable_cpu_data()
mem, array, capsule = SyncedMemory(1 << 20), SyncedMemory(1 << 20).mutable_gpu_data(), SyncedMemory(1 << 20).mutable_gpu().__dlpack__()
mem.mutable_gpu_data(); borrower = SyncedMemory(64); borrower.set_gpu_data(SyncedMemory(64).mutable_gpu())""",
    "a cycle": "node = [SyncedMemory(1 << 20)]; node += [node, node[0].mutable_gpu_data(), node[0].mutable_gpu().__dlpack__()]",
    "a copy in flight": """
mem = SyncedMemory(8 << 20); mem.mutable_cpu_data(); mem.async_gpu_push()""",
    "a function that runs at the exit": """
mem = SyncedMemory(1 << 20); array = mem.mutable_gpu_data()
atexit.register(lambda: (mem.cpu_data(), mem.gpu_data()))""",
    "a tensor that native code ends after Python": """
from dlpack import consume
libc = ctypes.CDLL(None)
libc.__cxa_atexit.argtypes = [ctypes.c_void_p] * 3
seen = consume(SyncedMemory(1 << 20).mutable_gpu().__dlpack__())
libc.__cxa_atexit(seen.deleter, seen.address, None)""",
}


@pytest.mark.parametrize("alive", ENDINGS)
def test_the_interpreter_ends_in_silence(program: Program, alive: str) -> None:
    ended_well(program(BEGIN + ENDINGS[alive]))


@pytest.mark.parametrize("alive", ON_A_DEVICE)
def test_the_interpreter_ends_in_silence_with_a_device(program: Program, driver: cuda_driver.Driver, alive: str) -> None:
    ended_well(program(BEGIN + ON_A_DEVICE[alive]))


def test_a_fork_ends_in_silence_too(program: Program) -> None:
    ended_well(
        program(
            BEGIN
            + """
array = SyncedMemory(1 << 20).mutable_cpu_data(); capsule = SyncedMemory(64).mutable_cpu().__dlpack__()
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
        )
    )


def test_an_import_alone_ends_in_silence_and_opens_no_driver(program: Program) -> None:
    done = program("import syncedmem; print('libcuda' in open('/proc/self/maps').read())", SYNCEDMEM_TEST_DRIVER="")
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
