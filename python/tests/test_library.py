"""The package uses the library in the process, else the one that SYNCEDMEM_LIBRARY names, else the one in the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import syncedmem
from conftest import HANGS_AFTER, Program, ended_well

pytestmark = pytest.mark.once

TELL = "import syncedmem; print(syncedmem.library_path()); print(bytes(syncedmem.SyncedMemory(4).cpu_data()))"
ZEROS = "b'\\x00\\x00\\x00\\x00'\n"


@pytest.fixture
def another(tmp_path: Path) -> str:
    """A copy of the library in another folder, under another name."""
    place = tmp_path / "another.so"
    shutil.copy(syncedmem.library_path(), place)
    return str(place)


@pytest.mark.parametrize("preloaded, named", [(False, False), (True, False), (False, True), (True, True)])
def test_a_preloaded_library_is_used_else_the_one_that_is_named_else_the_packages_own(
    program: Program, another: str, preloaded: bool, named: bool
) -> None:
    own = str(Path(syncedmem.__file__).parent / "libsyncedmem.so.0")
    environment = {"LD_PRELOAD": another} if preloaded else {}
    if named:
        # Two libraries in one process do not know each other's blocks.
        environment["SYNCEDMEM_LIBRARY"] = own if preloaded else another
    # An installed library that is not loaded is not used.
    environment["LD_LIBRARY_PATH"] = str(Path(another).parent)
    shutil.copy(another, Path(another).with_name("libsyncedmem.so.0"))
    ended_well(program(TELL, **environment), f"{another if preloaded or named else own}\n{ZEROS}")


def test_a_name_that_is_no_library_is_an_import_error_that_names_it(program: Program, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library")
    for name in ("/no/such/library.so", str(text)):
        done = program("import syncedmem", SYNCEDMEM_LIBRARY=name)
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 1 and last.startswith("ImportError: ") and name in last and "SYNCEDMEM_LIBRARY" in last


FUNCTIONS = [name for name in dir(syncedmem.lib) if callable(getattr(syncedmem.lib, name))]
OTHERS = {
    "of another version": 'const char *syncedmem_version(void) { return "7.0.0"; } int CaffeMallocHost(void) { return 7; }',
    "that lacks functions": "int CaffeMallocHost(void) { return 7; }",
    "of another version that has every function": 'const char *syncedmem_version(void) { return "7.0.0"; }'
    + "".join(f"int {name}(void) {{ return 7; }}\n" for name in FUNCTIONS if name != "syncedmem_version"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_library_that_does_not_fit_is_refused_with_a_sentence(program: Program, tmp_path: Path, what: str) -> None:
    source, library = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text(OTHERS[what])
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libsyncedmem.so.0", "-o", str(library), str(source)], check=True, timeout=HANGS_AFTER)
    for variable in ("SYNCEDMEM_LIBRARY", "LD_PRELOAD")[: 1 + (what == "that lacks functions")]:
        done = program("import syncedmem", **{variable: str(library)})
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 1 and last.startswith("ImportError: "), done.stderr
        assert str(library) in last and syncedmem.version().rsplit(".", 1)[0] in last


def test_the_packages_without_its_library_is_an_import_error(program: Program, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(Path(syncedmem.__file__).parent, site / "syncedmem", ignore=shutil.ignore_patterns("*.so*"))
    done = program(f"import sys; sys.path.insert(0, {str(site)!r})\nimport syncedmem")
    assert done.returncode == 1 and "libsyncedmem.so.0" in done.stderr.strip().splitlines()[-1]


# --- the wheel --------------------------------------------------------------------------------------

needs_wheel = pytest.mark.skipif("SYNCEDMEM_TEST_WHEEL" not in os.environ, reason="scripts/python builds the wheel")


@needs_wheel
def test_the_wheel_has_what_it_needs_and_nothing_else() -> None:
    wheel = Path(os.environ["SYNCEDMEM_TEST_WHEEL"])
    version = syncedmem.version()
    info = f"syncedmem-{version}.dist-info/"
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        tag = archive.read(info + "WHEEL").decode()
        metadata = archive.read(info + "METADATA").decode()
    modules = {name for name in names if name.endswith(".py") or name.endswith(".pyi")}
    source = Path(__file__).parents[1] / "src/syncedmem"
    made = {"syncedmem/_declarations.py", "_syncedmem_command.py"}
    assert modules == {f"syncedmem/{file.name}" for file in source.glob("*.py*")} | made
    rest = names - modules
    licences = {name for name in rest if name.startswith(info) and "LICENSE" in name}
    checkout = Path(__file__).parents[2]
    headers = {f"syncedmem/{path.relative_to(checkout)}" for path in checkout.glob("include/**/*.h*")}
    assert {"syncedmem/include/syncedmem.h", "syncedmem/include/syncedmem.hpp"} <= headers
    assert rest - licences == {
        *headers,
        "syncedmem/libsyncedmem.so.0",
        "syncedmem/py.typed",
        info + "METADATA",
        info + "RECORD",
        info + "WHEEL",
        info + "entry_points.txt",
    }
    assert licences, "a wheel is given to others with its licence"
    assert (Path(syncedmem.include_dir()) / "syncedmem.h").exists()
    assert "Root-Is-Purelib: false" in tag and "Tag: py3-none-" in tag and "linux" in tag and "py3-none-any" not in tag
    assert f"Version: {version}\n" in metadata and "Requires-Python: >=3.9" in metadata
    requires = [line.split(":")[1].strip() for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert sorted(each.split(">")[0] for each in requires) == ["cffi", "numpy"]


@needs_wheel
@pytest.mark.parametrize(("content", "says"), [(b"no library", "is no libsyncedmem"), (None, "there is no library")])
def test_a_wheel_is_not_made_of_something_else(content: bytes | None, says: str, tmp_path: Path) -> None:
    library = tmp_path / "other.so"
    if content is not None:
        library.write_bytes(content)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    done = subprocess.run(
        [*command, str(Path(__file__).parents[1])],
        env={**os.environ, "SYNCEDMEM_LIBRARY": str(library)},
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER,
    )
    assert done.returncode != 0 and says in done.stdout + done.stderr, done.stdout + done.stderr
    assert not list(tmp_path.glob("*.whl"))
