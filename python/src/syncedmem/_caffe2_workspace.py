"""Caffe2's `Workspace`: named blobs, as a mapping of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ._arguments import flag, size
from ._caffe2_tensor import Tensor, name_of, tensor_of
from ._errors import check_argument, failure
from ._handle import Holder, owned
from ._library import ffi, lib
from ._model import Path, encoded
from ._types import Side, Status


def _name(name: object) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"a blob's name is text, not {type(name).__name__}")
    text = name.encode("utf-8", "surrogateescape")
    if b"\0" in text:
        raise ValueError("a blob's name has no NUL in it")
    return text


class Workspace(Holder, MutableMapping[str, Tensor]):
    """Named blobs, over those of a parent: a mapping from names to tensors.

    C, C++ and Python see the same blobs and tensors, and the last reference frees them. Any number of threads may use a
    workspace at once.
    """

    __slots__ = ("__weakref__", "_pointer")
    _pointer: Any

    def __init__(self, parent: Workspace | None = None) -> None:
        """Makes an empty workspace, which keeps its parent."""
        made = ffi.new("syncedmem_workspace_t **")
        check_argument(lib.syncedmem_workspace_create(ffi.NULL if parent is None else parent._pointer, made))
        self._pointer = owned(made[0], lib.syncedmem_workspace_destroy)

    @classmethod
    def from_handle(cls, handle: Any) -> Workspace:
        """A workspace of C or C++, by its `syncedmem_workspace_t *` or the address as an int.

        The result adds a reference to the workspace; C or C++ still ends its own.
        """
        address = handle if isinstance(handle, ffi.CData) else size(handle, "handle")
        pointer = ffi.cast("syncedmem_workspace_t *", address)
        check_argument(lib.syncedmem_workspace_retain(pointer))
        made = cls.__new__(cls)
        made._pointer = owned(pointer, lib.syncedmem_workspace_destroy)
        return made

    @property
    def handle(self) -> Any:
        """The `syncedmem_workspace_t *` for functions of `syncedmem.lib`, valid while this object lives."""
        return self._pointer

    def _blob(self, function: Any, name: object) -> Any:
        made = ffi.new("syncedmem_typed_blob_t **")
        check_argument(function(self._pointer, _name(name), made))
        return owned(made[0], lib.syncedmem_typed_blob_destroy) if made[0] != ffi.NULL else None

    # --- tensors ----------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Tensor:
        """The tensor of that name, here or in a parent.

        Raises `TypeError` if the blob holds something else, `KeyError` if there is no blob or it is empty.
        """
        blob = self._blob(lib.syncedmem_workspace_get_blob, name)
        made = ffi.new("syncedmem_tensor_t **")
        while blob is not None:
            status = lib.syncedmem_typed_blob_get_tensor(blob, made)
            if status == Status.SUCCESS:
                return tensor_of(made[0])
            if status != Status.INVALID_ARGUMENT:
                raise failure(status)
            holds = _type_of(blob)
            if holds.id == ffi.NULL:
                break
            if not _is_tensor(holds):
                raise TypeError(f"the blob {name!r} holds {name_of(holds)}, and no tensor")
            # Another thread has put a tensor into the blob between the two calls.
        raise KeyError(name)

    def __setitem__(self, name: str, value: Any) -> None:
        """Puts the tensor itself into the blob of that name, here or in a parent, or into a new blob.

        An array is copied into a new tensor.
        """
        if not isinstance(value, Tensor):
            made = Tensor()
            made.copy_from(value)
            value = made
        blob = self._blob(lib.syncedmem_workspace_create_blob, name)
        check_argument(lib.syncedmem_typed_blob_set_tensor(blob, value.handle))

    def __delitem__(self, name: str) -> None:
        """Removes a blob of this workspace itself. Other references keep its tensor."""
        if not self._remove(name):
            raise KeyError(name)

    def _remove(self, name: str) -> bool:
        removed = ffi.new("bool *")
        check_argument(lib.syncedmem_workspace_remove_blob(self._pointer, _name(name), removed))
        return bool(removed[0])

    def clear(self) -> None:
        """Removes all blobs of this workspace itself."""
        for name in self.local:
            self._remove(name)

    def tensor(self, name: str, *, device: bool = False) -> Tensor:
        """The tensor of that name, here or in a parent, or a new one; a value of another type is replaced."""
        return self._made(lib.syncedmem_workspace_create_blob, name, device)

    def local_tensor(self, name: str, *, device: bool = False) -> Tensor:
        """The tensor of that name of this workspace itself, or a new one, which hides that of a parent."""
        return self._made(lib.syncedmem_workspace_create_local_blob, name, device)

    def _made(self, function: Any, name: str, device: bool) -> Tensor:
        made = ffi.new("syncedmem_tensor_t **")
        side = lib.SYNCEDMEM_DEVICE if device else lib.SYNCEDMEM_HOST
        blob = self._blob(function, name)
        check_argument(lib.syncedmem_typed_blob_get_mutable_tensor(blob, side, ffi.NULL, made))
        return tensor_of(made[0])

    # --- names ------------------------------------------------------------------------------------

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        has = ffi.new("bool *")
        check_argument(lib.syncedmem_workspace_has_blob(self._pointer, _name(name), has))
        return bool(has[0])

    def __iter__(self) -> Iterator[str]:
        """The visible names, each once and sorted, also of blobs without a tensor."""
        return iter([name for name, _ in self._seen(local=False)])

    def __len__(self) -> int:
        return len(self._seen(local=False))

    @property
    def local(self) -> list[str]:
        """The names of this workspace itself, sorted."""
        return [name for name, _ in self._seen(local=True)]

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each tensor's memory by name. Shared memory counts for the first of its tensors."""
        return dict(self._seen(local=False))

    def _seen(self, *, local: bool) -> list[tuple[str, int]]:
        seen: list[tuple[str, int]] = []

        def visit(name: Any, _blob: Any, nbytes: int, _context: Any) -> None:
            seen.append((ffi.string(name).decode("utf-8", "surrogateescape"), nbytes))

        visitor = ffi.callback("syncedmem_blob_visitor_t", visit)
        check_argument(lib.syncedmem_workspace_blobs(self._pointer, local, visitor, ffi.NULL))
        return seen

    def rename(self, name: str, new_name: str) -> None:
        """Renames a blob of this workspace itself. No visible blob may have the new name."""
        check_argument(lib.syncedmem_workspace_rename_blob(self._pointer, _name(name), _name(new_name), ffi.NULL))

    def map(self, other: Workspace, names: Mapping[str, str], *, skip: bool = False) -> None:
        """Makes blobs of another workspace visible here, from the name here to the name there.

        Names that are visible already raise `ValueError`, or with `skip` stay unchanged.
        """
        for name, theirs in names.items():
            function = lib.syncedmem_workspace_add_blob_mapping
            check_argument(function(self._pointer, _name(name), other._pointer, _name(theirs), flag(skip, "skip")))

    def __repr__(self) -> str:
        return f"<Workspace of {len(self)} blobs, {sum(self.sizes.values())} bytes>"


def _type_of(blob: Any) -> Any:
    meta = ffi.new("syncedmem_typemeta_t *")
    check_argument(lib.syncedmem_typed_blob_meta(blob, meta))
    return meta


def _is_tensor(holds: Any) -> bool:
    known = ffi.new("syncedmem_typemeta_t *")
    for side in Side:
        check_argument(lib.syncedmem_tensor_typemeta(side, known))
        if known.id == holds.id:
            return True
    return False


def load_init_net(path: Path) -> Workspace:
    """The weights of Caffe2's `init_net.pb`: a new workspace with a tensor on the host for each.

    Raises `Error` if the file is not such a file, has a tensor of texts, or has no values.
    """
    made = Workspace()
    check_argument(lib.syncedmem_workspace_load_init_net(made.handle, encoded(path)))
    return made
