"""A handle of the C API, with the lock that gives it to one thread at a time."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

from ._errors import called, check, failure
from ._library import ffi, lib, python
from ._types import Status

# Number of forks that led to this process. In a child, locks that other threads of the parent held are never released.
_forks = 0


# Lock of the data that all handles share. A thread that holds it takes no other lock. Re-entrant: a finaliser may run inside.
_common = threading.RLock()


def _forked() -> None:
    global _forks, _common
    _forks += 1
    _common = threading.RLock()


def common() -> threading.RLock:
    """The lock for changes of data that all handles share."""
    return _common


os.register_at_fork(after_in_child=_forked)


hide = python.PyObject_GC_UnTrack
"""Hides an object from the garbage collector: it ends with its last reference, and weak references to it stay until
then. It keeps the objects that it refers to, so they must not refer back to it.
"""
hide.restype, hide.argtypes = None, (ctypes.py_object,)


def owned(pointer: Any, end: Any) -> Any:
    """The pointer. `end` is called with it when nothing in Python refers to the result any more.

    The collector calls the finalisers of a reference cycle in any order, and would call `end` among them: another
    finaliser would then use an ended object.
    """
    made = ffi.gc(pointer, end)
    hide(made)
    return made


_HEAD = ffi.typeof("syncedmem_head_t *")
_new, _head = ffi.new, lib.syncedmem_head


class Holder:
    """Base of the classes that refer to an object of the library."""

    __slots__ = ()

    if not TYPE_CHECKING:  # Checkers would know every name as an attribute.

        def __getattr__(self, name: str) -> Any:
            member = getattr(type(self), name, None)
            if isinstance(member, property):
                return member.fget(self)  # raises the property's own error
            if isinstance(member, MemberDescriptorType):
                raise AttributeError(
                    f"{called()}: the object has ended: the garbage collector has cleared it, or its __init__ was never "
                    "called; make a new one, and keep a reference that is not weak"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Handle(Holder):
    """One object of the library.

    The object ends when nothing in Python refers to this and no array or tensor of it lives. The C library ends it, on
    any thread, without Python code and without a lock.
    """

    __slots__ = ("_forks", "_lock", "_pointer")

    def __init__(self, nbytes: int) -> None:
        made = ffi.new("syncedmem_t **")
        check(lib.syncedmem_create(nbytes, made))
        self._own(owned(made[0], lib.syncedmem_destroy))

    def _own(self, pointer: Any) -> None:
        self._pointer: Any = pointer
        # Re-entrant: a finaliser may run inside a call and use the same object.
        self._lock = threading.RLock()
        self._forks = _forks

    @property
    def pointer(self) -> Any:
        """The `syncedmem_t *`."""
        # Read once: another thread may close the object.
        pointer = self._pointer
        if pointer is None:
            raise ValueError("the SyncedMemory was closed, by close() or the end of its `with` block; make a new one")
        return pointer

    @property
    def closed(self) -> bool:
        return self._pointer is None

    @property
    def alone(self) -> threading.RLock:
        """The lock for a call on this object: most calls need the object alone."""
        if self._forks != _forks:
            made = threading.RLock()
            with _common:
                # Two threads of the child must not each make one.
                if self._forks != _forks:
                    self._lock, self._forks = made, _forks
        return self._lock

    def call(self, function: Callable[..., int], *arguments: Any) -> None:
        """Calls a function on the object, without the GIL."""
        # Call the properties only if they have work: the call takes longer than the work.
        with self._lock if self._forks == _forks else self.alone:
            status = function(self._pointer or self.pointer, *arguments)
            if status != 0:
                raise failure(status)

    def ask(self, function: Callable[..., int], c_type: str) -> Any:
        """Calls a function that writes one value, and returns it."""
        answer = ffi.new(c_type)
        self.call(function, answer)
        return answer[0]

    def head(self) -> int:
        """The side with the newest data, as a number of `Head`."""
        answer = _new(_HEAD)
        # No lock: the library reads one atomic word, and the argument keeps the object alive if another thread closes it.
        status = _head(self._pointer or self.pointer, answer)
        if status != 0:
            raise failure(status)
        head: int = answer[0]
        return head

    def exports(self) -> tuple[int, int]:
        """Numbers of live arrays and tensors of the host side and of the device side."""
        host, device = ffi.new("size_t *"), ffi.new("size_t *")
        self.call(lib.syncedmem_exports, host, device)
        return host[0], device[0]

    def close(self) -> None:
        """Ends the object, unless arrays or tensors of it are in use."""
        with self.alone:
            if self._pointer is None:
                return
            host, device = self.exports()
            if host or device:
                raise failure(
                    Status.EXPORTED,
                    f"the SyncedMemory cannot be closed: {host} arrays or tensors of its host side and {device} of its "
                    "device side are in use. It ends by itself with the last of them, if nothing refers to it.",
                )
            self._pointer = None
