"""Adds the shared library, its headers, cffi's module and the syncedmem command to the wheel.

Cargo builds the library and the command from the checkout of this folder, or from the copy in a source distribution.
If SYNCEDMEM_LIBRARY names a built library, such as that of scripts/package, no compiler is needed. SYNCEDMEM_COMMAND then
names the command, and libsyncedmem_net.so is in the library's folder; without SYNCEDMEM_COMMAND the wheel has neither.
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
COMMAND = "syncedmem"
NET = "libsyncedmem_net.so"
# Minor version of glibc 2: a library that needs no newer one runs on every Linux that Python supports.
FLOOR = 17
# Names of the machines by an ELF file's e_machine.
MACHINES = {62: "x86_64", 183: "aarch64"}


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
        raise SystemExit(f"syncedmem: cargo is not on PATH, and Rust {wanted} or later (and gcc) builds the library; {remedy}") from None
    found = re.match(r"cargo ([0-9.]+)", printed)
    if found and [int(part) for part in found[1].split(".")] < [int(part) for part in wanted.split(".")]:
        raise SystemExit(f"syncedmem: Rust {wanted} or later is needed, and cargo is {found[1]}; {remedy}")


def cargo(checkout: pathlib.Path, package: str, *options: str, **environment: str) -> pathlib.Path:
    """Builds a package with Cargo, and returns the path of its program or shared library."""
    command = ["cargo", "rustc", "--locked", "--release", "--package", package, *options]
    built = subprocess.run(
        [*command, "--message-format=json-render-diagnostics"],
        cwd=checkout,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    if built.returncode != 0:
        raise SystemExit(f"syncedmem: {package} does not build ({' '.join(command)})")
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    artifacts = [message for message in messages if message.get("reason") == "compiler-artifact"]
    for name in artifacts[-1]["filenames"] if artifacts else []:
        if not name.endswith((".a", ".rlib", ".rmeta")):
            return pathlib.Path(name)
    raise SystemExit(f"syncedmem: cargo built neither a program nor a shared library of {package}")


def build(checkout: pathlib.Path) -> dict[str, pathlib.Path]:
    """Builds the library and the command. Returns their files by their names in the package."""
    check_rust(checkout)
    # The same command lines as in cmake/cargo.cmake and cmake/command.cmake, so that Cargo builds each once.
    plain = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    return {
        SONAME: cargo(checkout, "syncedmem", "--lib", "--crate-type", "cdylib,staticlib"),
        COMMAND: cargo(checkout, "syncedmem-command", "--bin", "syncedmem", **plain),
        NET: cargo(checkout, "syncedmem-net", "--lib", **plain),
    }


def named() -> dict[str, pathlib.Path]:
    """The files that SYNCEDMEM_LIBRARY and SYNCEDMEM_COMMAND name."""
    library = pathlib.Path(os.environ["SYNCEDMEM_LIBRARY"]).resolve()
    if not library.is_file():
        raise SystemExit(f"syncedmem: there is no library {library}, which SYNCEDMEM_LIBRARY names")
    if b"syncedmem_to_dlpack" not in library.read_bytes():
        raise SystemExit(f"syncedmem: {library}, which SYNCEDMEM_LIBRARY names, is no libsyncedmem, or too old a one")
    if "SYNCEDMEM_COMMAND" not in os.environ:
        return {SONAME: library}
    made = {SONAME: library, COMMAND: pathlib.Path(os.environ["SYNCEDMEM_COMMAND"]), NET: library.with_name(NET)}
    for missing in (path for path in made.values() if not path.is_file()):
        raise SystemExit(f"syncedmem: SYNCEDMEM_COMMAND and SYNCEDMEM_LIBRARY are named, and there is no file {missing}")
    return made


def platform_of(files: list[pathlib.Path], named: bool) -> str:
    """The wheel's platform: manylinux for portable files that the variables name, which may be for another machine."""
    contents = [file.read_bytes() for file in files]
    machines = {MACHINES.get(int.from_bytes(content[18:20], "little"), "") for content in contents}
    if not named or len(machines) != 1 or "" in machines:
        return sysconfig.get_platform().replace("-", "_").replace(".", "_")
    newest = max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", b"".join(contents))), default=99)
    (machine,) = machines
    return f"manylinux_2_{FLOOR}_{machine}.manylinux2014_{machine}" if newest <= FLOOR else f"linux_{machine}"


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling before it packs the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Collects the built files, and sets the wheel's platform."""
        checkout = pathlib.Path(self.root, "checkout")
        if not checkout.is_dir():
            checkout = pathlib.Path(self.root).parent
        # syncedmem.h comes first: the other C headers use its types.
        headers = sorted(path.relative_to(checkout) for path in checkout.glob("include/**/*.h*"))
        if not headers:
            raise SystemExit(
                "syncedmem: the library's source is not beside this folder. Build from the checkout: pip install "
                "./python (pip 21.3 or later; older ones copy the folder alone)."
            )
        is_named = "SYNCEDMEM_LIBRARY" in os.environ
        files = named() if is_named else build(checkout)

        sys.path.insert(0, self.root)
        import declarations

        # An editable installation reads the source folder itself.
        editable = version == "editable"
        made = pathlib.Path(self.root, "src/syncedmem") if editable else pathlib.Path(tempfile.mkdtemp())
        self.made = None if editable else made
        declarations.write([checkout / header for header in headers if header.suffix == ".h"], made / "_declarations.py")
        for name, file in files.items():
            shutil.copy(file, made / name)
        for header in headers:
            (made / header).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(checkout / header, made / header)
        if not editable:
            for name in ("_declarations.py", *files, *map(str, headers)):
                build_data["force_include"][str(made / name)] = f"syncedmem/{name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_of(list(files.values()), is_named)}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes the files made for the wheel."""
        if self.made is not None:
            shutil.rmtree(self.made)
