"""Caffe's SyncedMemory: one buffer with a host side and a GPU side, each copied only when the other is newer.

`SyncedMemory` is the object, `SyncedMemory.array` a typed view of it; `Blob` is Caffe's shape with two arrays;
`Tensor` and `Workspace` are Caffe2's. NumPy, PyTorch, CuPy and other libraries with DLPack share its memory without copies.
The CUDA driver is loaded when it is first needed, not by the import; `cuda_status()` says whether there is one.

Sizes are in bytes. Every call releases the GIL. `ffi` and `lib` give access to the whole C API.
"""

from ._access import Access, DeviceAccess, HostAccess
from ._array import SyncedArray
from ._blob import Blob, BlobArray
from ._caffe2_tensor import Tensor, get_keep_on_shrink, set_keep_on_shrink
from ._caffe2_workspace import Workspace, load_init_net
from ._device import DeviceArray
from ._errors import Error, ExportedError, OutOfMemoryError
from ._library import ffi, include_dir, lib, library_path, version
from ._memory import SyncedMemory, from_dlpack
from ._model import CaffeModel, ModelBlob, ModelLayer, open_caffemodel
from ._model_load import SolverState, load_binaryproto, load_caffemodel, load_solverstate, save_binaryproto
from ._observe import (
    CudaStatus,
    blobs_computed_on_host,
    cuda_status,
    device_mismatches,
    idle_bytes,
    report,
    reset_peaks,
    stats,
    trace,
    trace_start,
    trace_stop,
    trim,
)
from ._policies import (
    get_accounting,
    get_device_check,
    get_error_policy,
    get_mode,
    get_pinned_limit,
    get_pinning,
    get_pool_age,
    get_pool_budget,
    set_accounting,
    set_device_check,
    set_error_policy,
    set_mode,
    set_pinned_limit,
    set_pinning,
    set_pool_age,
    set_pool_budget,
)
from ._report import Report
from ._types import Accounting, ErrorPolicy, Head, Memory, MemoryStats, Mode, ModelKind, Pinning, Stats, Status, Sum

__version__ = f"{lib.SYNCEDMEM_VERSION_MAJOR}.{lib.SYNCEDMEM_VERSION_MINOR}.{lib.SYNCEDMEM_VERSION_PATCH}"
"""The version of the package and of its header. `version()` is that of the library."""

__all__ = [
    "Access",
    "Accounting",
    "Blob",
    "BlobArray",
    "CaffeModel",
    "CudaStatus",
    "DeviceAccess",
    "DeviceArray",
    "Error",
    "ErrorPolicy",
    "ExportedError",
    "Head",
    "HostAccess",
    "Memory",
    "MemoryStats",
    "Mode",
    "ModelBlob",
    "ModelKind",
    "ModelLayer",
    "OutOfMemoryError",
    "Pinning",
    "Report",
    "SolverState",
    "Stats",
    "Status",
    "Sum",
    "SyncedArray",
    "SyncedMemory",
    "Tensor",
    "Workspace",
    "__version__",
    "blobs_computed_on_host",
    "cuda_status",
    "device_mismatches",
    "ffi",
    "from_dlpack",
    "get_accounting",
    "get_device_check",
    "get_error_policy",
    "get_keep_on_shrink",
    "get_mode",
    "get_pinned_limit",
    "get_pinning",
    "get_pool_age",
    "get_pool_budget",
    "idle_bytes",
    "include_dir",
    "lib",
    "library_path",
    "load_binaryproto",
    "load_caffemodel",
    "load_init_net",
    "load_solverstate",
    "open_caffemodel",
    "report",
    "reset_peaks",
    "save_binaryproto",
    "set_accounting",
    "set_device_check",
    "set_error_policy",
    "set_keep_on_shrink",
    "set_mode",
    "set_pinned_limit",
    "set_pinning",
    "set_pool_age",
    "set_pool_budget",
    "stats",
    "trace",
    "trace_start",
    "trace_stop",
    "trim",
    "version",
]


def _name_classes() -> None:
    """Lets messages and documentation name classes as they are imported."""
    for name in __all__:
        if isinstance(globals()[name], type):
            globals()[name].__module__ = "syncedmem"


_name_classes()
