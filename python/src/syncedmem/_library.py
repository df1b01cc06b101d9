"""The shared library: which one it is, and its C API as `ffi` and `lib`.

Nothing of the C API is written down here: `_declarations` is made from its generated header by the package's build.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any

# Without a library there is no package; cffi's own types say too little of what they hold.
from ._declarations import ffi as _ffi  # type: ignore[import-not-found,unused-ignore]  # pyright: ignore

__all__ = ["ffi", "lib", "library_path", "include_dir", "version"]

ffi: Any = _ffi

_FOLDER = pathlib.Path(__file__).resolve().parent
_SONAME = "libsyncedmem.so.0"
_RTLD_DI_LINKMAP = 2  # <dlfcn.h>


class _LinkMap(ctypes.Structure):
    """What the loader says of a library: the beginning of <link.h>'s link_map."""

    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]


def _opened() -> tuple[Any, str]:
    # One that the process has already, such as a preloaded one, must be it: two would not know each other's blocks.
    try:
        # Of a file that is there but not loaded glibc has no error to tell: cffi dies of that, and ctypes does not.
        ctypes.CDLL(_SONAME, os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        pass
    else:
        return ffi.dlopen(_SONAME, os.RTLD_NOW | os.RTLD_NOLOAD), _path_of(_SONAME)
    named = os.environ.get("SYNCEDMEM_LIBRARY")
    path = named or str(_FOLDER / _SONAME)
    try:
        # Local: its C++ symbols are not meant to take the place of those of a Caffe that is loaded later.
        return ffi.dlopen(path, os.RTLD_NOW | os.RTLD_LOCAL), _path_of(path)
    except OSError as error:
        whose = ", which SYNCEDMEM_LIBRARY names," if named else ""
        raise ImportError(f"the library {path}{whose} cannot be loaded: {error}", name="syncedmem", path=path) from None


def _checked(library: Any, path: str) -> Any:
    """The library, if it has all that the header had when this package was built, and means the same by it."""
    missing: list[str] = []
    for name in dir(library):
        try:
            getattr(library, name)
        except (AttributeError, ffi.error):
            missing.append(name)
    theirs = "unknown" if "syncedmem_version" in missing else _text(library.syncedmem_version())
    ours = f"{library.SYNCEDMEM_VERSION_MAJOR}.{library.SYNCEDMEM_VERSION_MINOR}"
    if not missing and theirs.startswith(f"{ours}."):
        return library
    what = f"it lacks {missing[0]}" if missing else "that is another version"
    raise ImportError(
        f"the library {path} is of version {theirs}, and this package needs {ours}: {what}. "
        f"Preload or name the package's own instead: {_FOLDER / _SONAME}",
        name="syncedmem",
    )


def _text(string: Any) -> str:
    return str(ffi.string(string).decode("utf-8", "replace"))


def _path_of(name: str) -> str:
    """The file of a library that is loaded."""
    loaded = ctypes.CDLL(name, os.RTLD_NOW | os.RTLD_NOLOAD)
    linker = ctypes.CDLL(None)
    entry = ctypes.POINTER(_LinkMap)()
    if linker.dlinfo(ctypes.c_void_p(loaded._handle), _RTLD_DI_LINKMAP, ctypes.byref(entry)) != 0:
        return name
    return os.path.abspath(os.fsdecode(entry.contents.name))


_library, _path = _opened()
lib: Any = _checked(_library, _path)


def library_path() -> str:
    """The file of the library that is in use: preloaded, named by SYNCEDMEM_LIBRARY, or the package's own."""
    return _path


def include_dir() -> str:
    """The folder with `syncedmem.h`, for C programs that are to work on the same objects."""
    return str(_FOLDER / "include")


def version() -> str:
    """The version of the library that is in use, such as "1.2.3"."""
    return _text(lib.syncedmem_version())
