"""Leaves objects on the device to Python's own end, through ctypes.

usage: finalises.py LIBRARY globals|cycles|atexit|never|thread
"""
import atexit
import ctypes
import gc
import sys
import threading

library = ctypes.CDLL(sys.argv[1])
library.syncedmem_create.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]
for name in ("mutable_cpu_data", "mutable_gpu_data", "gpu_data"):
    getattr(library, "syncedmem_" + name).argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
library.syncedmem_destroy.argtypes = [ctypes.c_void_p]
# Where memory cannot be page-locked, the library would print that.
if library.syncedmem_cuda_status(None) == 0:
    library.syncedmem_set_pinning(1)


class Memory:
    """An object with data on both sides, which ends with it."""

    def __init__(self, size):
        self.handle = ctypes.c_void_p()
        self.destroy = library.syncedmem_destroy
        data = ctypes.c_void_p()
        library.syncedmem_create(size, ctypes.byref(self.handle))
        library.syncedmem_mutable_cpu_data(self.handle, ctypes.byref(data))
        ctypes.memset(data, 1, size)
        library.syncedmem_gpu_data(self.handle, ctypes.byref(data))

    def __del__(self):
        self.destroy(self.handle)


how = sys.argv[2]
memory = Memory(5000)
if how == "cycles":
    gc.disable()
    memory.itself = memory
    del memory
elif how == "atexit":
    atexit.register(memory.__del__)
    del Memory.__del__
elif how == "never":
    del Memory.__del__
elif how == "thread":
    threading.Thread(target=lambda: setattr(sys.modules["__main__"], "other", Memory(100000))).start()
else:
    assert how == "globals", how
