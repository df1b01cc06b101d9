"""The shared library: its file, and its C API as `ffi` and `lib`.

The package's build makes `_declarations` from the generated C header, the only source of the declarations.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any

# Made by the build, so type checkers do not find it.
from ._declarations import ffi as _ffi  # type: ignore[import-not-found,unused-ignore]  # pyright: ignore

__all__ = ["ffi", "lib", "library_path", "include_dir", "version"]

ffi: Any = _ffi

python = ctypes.PyDLL(None)
"""CPython's C API. Not ctypes.pythonapi: other packages may change the argument types of its functions."""

_FOLDER = pathlib.Path(__file__).resolve().parent
_SONAME = "libsyncedmem.so.0"
_RTLD_DI_LINKMAP = 2  # <dlfcn.h>


class _LinkMap(ctypes.Structure):
    """The beginning of <link.h>'s link_map."""

    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]


def _opened() -> tuple[Any, str]:
    # Use the library that is in the process, such as a preloaded one: two do not know each other's blocks.
    try:
        # ctypes, because cffi crashes if the file exists but is not loaded: glibc sets no error then.
        ctypes.CDLL(_SONAME, os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        pass
    else:
        return ffi.dlopen(_SONAME, os.RTLD_NOW | os.RTLD_NOLOAD), _path_of(_SONAME)
    named = os.environ.get("SYNCEDMEM_LIBRARY")
    path = named or str(_FOLDER / _SONAME)
    try:
        # RTLD_LOCAL: the library's C++ symbols must not replace those of a Caffe that is loaded later.
        return ffi.dlopen(path, os.RTLD_NOW | os.RTLD_LOCAL), _path_of(path)
    except OSError as error:
        whose = ", which SYNCEDMEM_LIBRARY names," if named else ""
        raise ImportError(f"the library {path}{whose} cannot be loaded: {error}", name="syncedmem", path=path) from None


def _checked(library: Any, path: str) -> Any:
    """The library. Raises an error unless it has the version and all functions of this package's header."""
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
    """The file of a loaded library."""
    loaded = ctypes.CDLL(name, os.RTLD_NOW | os.RTLD_NOLOAD)
    linker = ctypes.CDLL(None)
    entry = ctypes.POINTER(_LinkMap)()
    if linker.dlinfo(ctypes.c_void_p(loaded._handle), _RTLD_DI_LINKMAP, ctypes.byref(entry)) != 0:
        return name
    return os.path.abspath(os.fsdecode(entry.contents.name))


_library, _path = _opened()
lib: Any = _checked(_library, _path)


def library_path() -> str:
    """The file of the library in use: preloaded, named by SYNCEDMEM_LIBRARY, or the package's own."""
    return _path


def include_dir() -> str:
    """The folder with `syncedmem.h`, for C programs that work on the same objects."""
    return str(_FOLDER / "include")


def version() -> str:
    """The version of the library in use, such as "1.2.3"."""
    return _text(lib.syncedmem_version())
