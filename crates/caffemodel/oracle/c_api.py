"""What the library's C API (include/syncedmem_model.h) reads from files."""

import ctypes
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import numpy

INCLUDE = Path(__file__).parents[3] / "include"
SCALARS = {
    "size_t": ctypes.c_size_t,
    "int32_t": ctypes.c_int32,
    "int": ctypes.c_int,
    "uint64_t": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "const char *": ctypes.c_char_p,
    "const int64_t *": ctypes.POINTER(ctypes.c_int64),
}
KINDS = {
    "SYNCEDMEM_MODEL_NET": "Net",
    "SYNCEDMEM_MODEL_BLOB": "Blob",
    "SYNCEDMEM_MODEL_BLOBS": "Blobs",
    "SYNCEDMEM_MODEL_SOLVER_STATE": "SolverState",
    "SYNCEDMEM_MODEL_INIT_NET": "InitNet",
}


@dataclass
class Blob:
    """A blob: its values, or the sentence that says why they cannot be read."""

    shape: list[int]
    data: Optional[numpy.ndarray] = None
    diff: Optional[numpy.ndarray] = None
    problem: str = ""


@dataclass
class Layer:
    """A layer, by its name in bytes."""

    type: str
    name: bytes
    blobs: list[Blob] = field(default_factory=list)


@dataclass
class File:
    """A file, or the sentence that says why it was refused."""

    error: str = ""
    kind: str = ""
    name: bytes = b""
    state: Optional[tuple[int, int, bytes]] = None
    layers: list[Layer] = field(default_factory=list)

    def blobs(self) -> list[Blob]:
        """All blobs, in order."""
        return [blob for layer in self.layers for blob in layer.blobs]


class Api:
    """The library, and what its headers say of it."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library)
        self.library.syncedmem_last_error.restype = ctypes.c_char_p
        headers = "\n".join(path.read_text() for path in sorted(INCLUDE.glob("*.h")))
        code = re.sub(r"/\*.*?\*/", "", headers, flags=re.DOTALL)
        structs = re.findall(r"typedef struct (\w+) \{(.*?)\n\}", code, re.DOTALL)
        self.structs = {name: re.findall(r"^ +(\w[\w ]*?(?: \*)?) ?(\w+);$", body, re.MULTILINE) for name, body in structs}
        self.numbers = {name: int(value) for name, value in re.findall(r"^ +(SYNCEDMEM_\w+) = (\d+),$", code, re.MULTILINE)}
        self.types = {number: name[len("SYNCEDMEM_") :].lower() for name, number in self.numbers.items()
                      if name.startswith(("SYNCEDMEM_FLOAT", "SYNCEDMEM_INT", "SYNCEDMEM_UINT", "SYNCEDMEM_BOOL"))}  # fmt: skip

    def call(self, function: str, *arguments) -> None:
        """Calls a function; its sentence is the exception where it fails."""
        if getattr(self.library, function)(*arguments) != 0:
            raise OSError(self.library.syncedmem_last_error().decode("utf-8", "replace").partition(": ")[2])

    def info(self, name: str, function: str, *arguments):
        """What a function writes to its structure."""
        fields = [(field, SCALARS[of]) for of, field in self.structs[name]]
        info = type(name, (ctypes.Structure,), {"_fields_": fields})()
        info.size = ctypes.sizeof(info)
        self.call(function, *arguments, ctypes.byref(info))
        return info

    def values(self, model, layer: int, blob: int, part: str, element: int, count: int) -> numpy.ndarray:
        """An array as it is stored."""
        dtype = numpy.dtype(self.types[element]).newbyteorder("<")
        mem, data = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("syncedmem_create", ctypes.c_size_t(count * dtype.itemsize), ctypes.byref(mem))
        try:
            place = model, ctypes.c_size_t(layer), ctypes.c_size_t(blob), self.numbers[part]
            self.call("syncedmem_model_read_blob", *place, element, mem)
            self.call("syncedmem_cpu_data", mem, ctypes.byref(data))
            return numpy.frombuffer(ctypes.string_at(data, count * dtype.itemsize), dtype)
        finally:
            self.call("syncedmem_destroy", mem)

    def file(self, path: Path) -> File:
        """All of a file."""
        model = ctypes.c_void_p()
        try:
            self.call("syncedmem_model_open", str(path).encode(), ctypes.byref(model))
        except OSError as error:
            return File(error=str(error))
        info = self.info("syncedmem_model_info_t", "syncedmem_model_info", model)
        kind = next(KINDS[name] for name in KINDS if self.numbers[name] == info.kind)
        file = File(kind=kind, name=info.name)
        if kind == "SolverState":
            file.state = info.iter, info.current_step, info.learned_net
        count, name, of = ctypes.c_size_t(), ctypes.c_char_p(), ctypes.c_char_p()
        self.call("syncedmem_model_layer_count", model, ctypes.byref(count))
        for number in range(count.value):
            blobs = ctypes.c_size_t()
            written = ctypes.byref(name), ctypes.byref(of), ctypes.byref(blobs)
            self.call("syncedmem_model_layer", model, ctypes.c_size_t(number), *written)
            layer = Layer(of.value.decode(), name.value)
            file.layers.append(layer)
            layer.blobs.extend(self.blob(model, number, blob) for blob in range(blobs.value))
        self.call("syncedmem_model_close", model)
        return file

    def blob(self, model, layer: int, number: int) -> Blob:
        """A blob with its values, or why it has none."""
        place = model, ctypes.c_size_t(layer), ctypes.c_size_t(number)
        info = self.info("syncedmem_blob_info_t", "syncedmem_model_blob_info", *place)
        blob = Blob(info.shape[: info.axes])
        try:
            blob.data = self.values(model, layer, number, "SYNCEDMEM_DATA", info.element_type, info.count)
            if info.has_diff:
                diff = info.diff_element_type
                blob.diff = self.values(model, layer, number, "SYNCEDMEM_DIFF", diff, info.count)
        except OSError as error:
            blob.problem = str(error)
        return blob
