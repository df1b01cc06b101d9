"""Facts that the figures depend on besides the libraries: the machine, its kernel, and the settings of the environment."""

import os
import platform
import re
from pathlib import Path
from typing import Dict

THP = Path("/sys/kernel/mm/transparent_hugepage")


def chosen(file: Path) -> str:
    """The bracketed word of a sysfs setting such as 'always [madvise] never'."""
    try:
        match = re.search(r"\[([^]]+)\]", file.read_text())
    except OSError:
        return "absent"
    return match.group(1) if match else "unknown"


def huge_page_setting() -> str:
    """One of always, madvise, never and absent, for pages of 2 MiB in this process."""
    setting = chosen(THP / "enabled")
    # Since Linux 6.8 each size has its own switch, which may refer to the common one.
    own = chosen(THP / "hugepages-2048kB" / "enabled")
    if own not in ("absent", "unknown", "inherit"):
        setting = own
    status = Path("/proc/self/status").read_text()
    return "never" if re.search(r"^THP_enabled:\s*0", status, re.M) else setting


def describe_system() -> Dict[str, object]:
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", cpuinfo, re.M)
    memory = re.search(r"MemTotal:\s*(\d+) kB", Path("/proc/meminfo").read_text())
    return {
        "processor": model.group(1) if model else platform.machine(),
        "virtual_machine": bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, re.M)),
        "memory_bytes": int(memory.group(1)) * 1024 if memory else None,
        "kernel": f"{platform.system()} {platform.release()}",
        "c_library": os.confstr("CS_GNU_LIBC_VERSION") or "unknown",
        "huge_pages": huge_page_setting(),
        "huge_page_defrag": chosen(THP / "defrag"),
        # Variables that change the figures.
        "settings": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(("SYNCEDMEM_", "MALLOC_")) or name == "GLIBC_TUNABLES"
        },
    }
