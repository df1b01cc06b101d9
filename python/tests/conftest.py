"""Fixtures of the tests. Each test is independent of the others: fixtures restore what a test sets."""

from __future__ import annotations

import faulthandler
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator

import pytest

# No idle block is freed for its age during the tests. The library reads this once.
os.environ.setdefault("SYNCEDMEM_POOL_AGE", "3600")

import cuda_driver  # noqa: E402
import syncedmem  # noqa: E402

DRIVER = cuda_driver.find()
# A time-out in seconds that no busy machine reaches: a longer call hangs.
HANGS_AFTER = 300


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "once: what it tests has nothing to do with which driver there is")
    config.addinivalue_line("markers", "no_driver: needs that there is none")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects tests that this driver cannot run: a skip would look like a problem."""

    def serves(item: pytest.Item) -> bool:
        fixtures = getattr(item, "fixturenames", ())
        if "simulated" in fixtures:
            return DRIVER is not None and DRIVER.simulated
        if "real" in fixtures:
            return DRIVER is not None and not DRIVER.simulated
        if "driver" in fixtures:
            return DRIVER is not None
        if item.get_closest_marker("no_driver"):
            return DRIVER is None
        return DRIVER is not None or not item.get_closest_marker("once")

    config.hook.pytest_deselected(items=[item for item in items if not serves(item)])
    items[:] = [item for item in items if serves(item)]


@pytest.fixture
def driver() -> cuda_driver.Driver:
    """Any driver."""
    assert DRIVER is not None
    return DRIVER


@pytest.fixture
def real(driver: cuda_driver.Driver) -> cuda_driver.Driver:
    """The system's driver, and so a GPU."""
    return driver


@pytest.fixture
def simulated() -> Iterator[cuda_driver.Driver]:
    """The simulated driver; the test fails if it breaks a rule of CUDA."""
    assert DRIVER is not None
    broken = DRIVER.violations()
    DRIVER.forget()
    yield DRIVER
    assert DRIVER.violations() == broken


def live() -> int:
    """Bytes that objects hold, in all kinds of memory. Pageable blocks of up to 4 KiB are not counted."""
    gc.collect()
    stats = syncedmem.stats()
    return int(stats.pageable.live + stats.pinned.live + stats.device.live)


@pytest.fixture
def alive() -> Callable[[], int]:
    """Bytes that objects hold, less those before the test."""
    before = live()
    return lambda: live() - before


@pytest.fixture
def accounting() -> Iterator[None]:
    """Switches the account on during the test."""
    before = syncedmem.get_accounting()
    syncedmem.set_accounting(syncedmem.Accounting.ON)
    yield
    syncedmem.set_accounting(before)


Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs a separate Python program with the same package; returns its exit status and output."""

    def run(text: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-X", "dev", "-W", "error", "-c", "import faulthandler; faulthandler.enable()\n" + text],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANGS_AFTER,
        )

    return run


def ended_well(done: "subprocess.CompletedProcess[str]", said: str = "") -> None:
    """Checks that a program reached its end and printed nothing else."""
    assert (done.returncode, done.stdout, done.stderr) == (0, said, ""), f"{done.returncode}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(autouse=True)
def _no_test_hangs() -> Iterator[None]:
    """If a test hangs, prints the stacks of all threads and ends the process."""
    faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
