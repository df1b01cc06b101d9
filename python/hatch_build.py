"""Adds the shared library, its headers and cffi's module to the wheel.

Cargo builds the library from the checkout of this folder. SYNCEDMEM_LIBRARY names a library that is built already, such
as that of scripts/package; then no compiler is needed.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SONAME = "libsyncedmem.so.0"
# Minor version of glibc: a library that needs no newer one runs on every Linux that Python supports.
FLOOR = 17


def check_rust(checkout: pathlib.Path) -> None:
    """Exits with a sentence if cargo is missing or too old: cargo's own error does not name the version."""
    wanted = re.findall(r'^rust-version = "(.*)"', (checkout / "Cargo.toml").read_text(), re.MULTILINE)[0]
    remedy = (
        "get it with rustup (rustup.rs), or on Debian with apt-get install cargo (Debian 13 or later) or cargo-web "
        "(Debian 12); or name a library that is built already with SYNCEDMEM_LIBRARY"
    )
    try:
        printed = subprocess.run(["cargo", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    except FileNotFoundError:
        raise SystemExit(
            f"syncedmem: cargo is not on PATH, and Rust {wanted} or later (and gcc) builds the library; {remedy}"
        ) from None
    found = re.match(r"cargo ([0-9.]+)", printed)
    if found and [int(part) for part in found[1].split(".")] < [int(part) for part in wanted.split(".")]:
        raise SystemExit(f"syncedmem: Rust {wanted} or later is needed, and cargo is {found[1]}; {remedy}")


def build_library(checkout: pathlib.Path) -> pathlib.Path:
    """Builds the library with Cargo, and returns its path."""
    check_rust(checkout)
    # To the letter as cmake/cargo.cmake builds it, so that it is built once.
    command = ["cargo", "rustc", "--locked", "--release", "--package", "syncedmem", "--lib", "--crate-type", "cdylib,staticlib"]
    built = subprocess.run(
        [*command, "--message-format=json-render-diagnostics"], cwd=checkout, stdout=subprocess.PIPE, text=True
    )
    if built.returncode != 0:
        raise SystemExit(f"syncedmem: the library does not build ({' '.join(command)})")
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and "cdylib" in message["target"]["crate_types"]:
            for name in message["filenames"]:
                if name.endswith(".so"):
                    return pathlib.Path(name)
    raise SystemExit("syncedmem: cargo built no shared library")


def platform_of(library: pathlib.Path, named: bool) -> str:
    """The wheel's platform: manylinux for a portable library, else that of this machine."""
    own = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    newest = max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", library.read_bytes())), default=99)
    if named and own == "linux_x86_64" and newest <= FLOOR:
        return f"manylinux_2_{FLOOR}_x86_64.manylinux2014_x86_64"
    return own


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling before it packs the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Gathers the made files, and sets the wheel's platform."""
        checkout = pathlib.Path(self.root).parent
        # syncedmem.h first: the others of C use its types.
        headers = sorted(path.relative_to(checkout) for path in checkout.glob("include/**/*.h*"))
        if not headers:
            raise SystemExit(
                "syncedmem: the library's source is not beside this folder. Build from the checkout: pip install "
                "./python (pip 21.3 or later; older ones copy the folder alone)."
            )
        named = os.environ.get("SYNCEDMEM_LIBRARY")
        library = pathlib.Path(named).resolve() if named else build_library(checkout)
        if not library.is_file():
            raise SystemExit(f"syncedmem: there is no library {library}, which SYNCEDMEM_LIBRARY names")
        if b"syncedmem_to_dlpack" not in library.read_bytes():
            raise SystemExit(f"syncedmem: {library}, which SYNCEDMEM_LIBRARY names, is no libsyncedmem, or too old a one")

        sys.path.insert(0, self.root)
        import declarations

        # An editable installation reads the source folder itself.
        editable = version == "editable"
        made = pathlib.Path(self.root, "src/syncedmem") if editable else pathlib.Path(tempfile.mkdtemp())
        self.made = None if editable else made
        declarations.write([checkout / header for header in headers if header.suffix == ".h"], made / "_declarations.py")
        shutil.copy(library, made / SONAME)
        for header in headers:
            (made / header).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(checkout / header, made / header)
        if not editable:
            for name in ("_declarations.py", SONAME, *map(str, headers)):
                build_data["force_include"][str(made / name)] = f"syncedmem/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_of(library, named is not None)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes the files made for the wheel."""
        if self.made is not None:
            shutil.rmtree(self.made)
