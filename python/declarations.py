"""Makes cffi's module from the generated C headers, Python's only source of the C API."""

import pathlib
import re

import cffi

# The headers' conditions other than their guards, as a C compiler before C23 evaluates them: cffi has no preprocessor.
CONDITIONS = {
    "ifdef __cplusplus": False,
    "ifndef __cplusplus": True,
    "if defined(__cplusplus) || __STDC_VERSION__ >= 202311L": False,
    "if __STDC_VERSION__ >= 202311L": False,
}

# DLPack 1.0 (dmlc.github.io/dlpack, "C API"), for which the header has `void *`. The data's address is a number.
DLPACK = """
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  uintptr_t data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t *shape; int64_t *strides; uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
  DLTensor dl_tensor; void *manager_ctx; void (*deleter)(struct DLManagedTensor *);
} DLManagedTensor;
typedef struct DLManagedTensorVersioned {
  struct { uint32_t major; uint32_t minor; } version;
  void *manager_ctx; void (*deleter)(struct DLManagedTensorVersioned *); uint64_t flags; DLTensor dl_tensor;
} DLManagedTensorVersioned;
"""


def preprocessed(header: str) -> str:
    """The header's declarations and its numbers, without conditions and comments."""
    header = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.DOTALL)
    lines = []
    holds = []
    for line in header.splitlines():
        directive = re.match(r"\s*#\s*(.*?)\s*$", line)
        if directive is None:
            if all(holds):
                lines.append(line)
        elif directive[1].startswith("if"):
            is_guard = re.match(r"ifndef SYNCEDMEM(_\w+)?_H$", directive[1]) is not None
            if not is_guard and directive[1] not in CONDITIONS:
                raise ValueError(f"unknown condition in the header: #{directive[1]}")
            holds.append(is_guard or CONDITIONS[directive[1]])
        elif directive[1] == "else":
            holds[-1] = not holds[-1]
        elif directive[1] == "endif":
            holds.pop()
        elif all(holds) and re.match(r"define \w+ \d+$", directive[1]):
            lines.append(line)
        elif all(holds) and not re.match(r"include |define SYNCEDMEM(_\w+)?_H$", directive[1]):
            raise ValueError(f"unknown line in the header: {line}")
    return "\n".join(lines)


def write(headers: list[pathlib.Path], module: pathlib.Path) -> None:
    """Writes the module that `import syncedmem` reads: pure Python, the same for every CPython."""
    ffi = cffi.FFI()
    for header in headers:
        ffi.cdef(preprocessed(header.read_text("utf-8")))
    ffi.cdef(DLPACK)
    ffi.set_source("syncedmem._declarations", None)
    ffi.emit_python_code(str(module))
