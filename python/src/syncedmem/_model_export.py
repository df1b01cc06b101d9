"""Model files as files of other formats, written blob by blob and put under their names once they are whole."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
import zipfile
from collections.abc import Generator
from typing import IO, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ._model import CaffeModel

_SAFETENSORS = {"float16": "F16", "float32": "F32", "float64": "F64", "bool": "BOOL"} | {
    f"{kind}int{bits}": f"{kind.upper() or 'I'}{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64)
}


@contextlib.contextmanager
def _new_file(path: str) -> Generator[IO[bytes], None, None]:
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is a folder, a pipe or a device; name a regular file")
    temporary = os.path.join(os.path.dirname(path), f".syncedmem-{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            try:
                yield file
                file.flush()
                os.replace(temporary, path)
            except BaseException:
                os.unlink(temporary)
                raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def save_npz(model: CaffeModel, path: str) -> None:
    """As `CaffeModel.save_npz`."""
    blobs = list(model.blobs())
    for name, _ in blobs:
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError(f"{name!r} in an archive would be unpacked elsewhere; save it as safetensors")
    with _new_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, blob in blobs:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, blob.read().cpu_data(), allow_pickle=False)


def save_safetensors(model: CaffeModel, path: str) -> None:
    """As `CaffeModel.save_safetensors`."""
    blobs = list(model.blobs())
    header, end = {}, 0
    for name, blob in blobs:
        begin, end = end, end + blob.nbytes
        header[name] = {"dtype": _SAFETENSORS[blob.dtype.name], "shape": blob.shape, "data_offsets": (begin, end)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with _new_file(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, blob in blobs:
            file.write(blob.read().cpu_data().reshape(-1).view(np.uint8).data)
