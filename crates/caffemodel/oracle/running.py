"""Runs checks, each of which prints one line; the last line counts them."""

import sys
import traceback
from collections.abc import Iterable
from typing import Any


def run(title: str, checks: Iterable, context: Any) -> int:
    """Calls each check with the context, and returns the exit status."""
    passed = failed = 0
    for check in checks:
        try:
            print(f"ok - {check.__doc__}: {check(context)}")
            passed += 1
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok - {check.__doc__}")
            traceback.print_exc(file=sys.stdout)
    print(f"{title}: {passed} passed, {failed} failed")
    return 1 if failed else 0
