"""Validates what `syncedmem report --json` prints against its schema, and its figures against each other.

Started by `tests/page/run` with the folder of the schema and the files. Each check prints one line; the last line counts them.
"""

import json
import sys
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

KINDS = ("pageable", "pinned", "device")


def strict(schema: Any) -> Any:
    """The schema without room for fields that it does not describe."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: strict(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict):
        parts["unevaluatedProperties"] = False
    return parts


def faults_of_schema(schema: Any, document: Any) -> list[str]:
    # A part that others extend may not forbid their fields.
    schema = strict(schema)
    schema.get("$defs", {}).get("amount", {}).pop("unevaluatedProperties", None)
    Draft202012Validator.check_schema(schema)
    errors = Draft202012Validator(schema).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in errors]


def faults_of_report(report: Any) -> list[str]:
    """Sums that do not agree."""
    faults = []
    for process in report["processes"]:
        for kind in KINDS:
            peak = process["memory"][kind]["peak_bytes"]
            for parts in ("holders", "roles"):
                held = sum(part["peak_bytes"][kind] for part in process[parts])
                if process[parts] and held != peak:
                    faults.append(f"{kind} memory had a peak of {peak}, and its {parts} held {held}")
        for side in ("host", "device"):
            by_sort = sum(work["bytes"] for work in process["work"] if work["what"] == "copy" and work["side"] == side)
            by_site = sum(site[f"copies_to_{side}"]["bytes"] for site in process["sites"])
            if by_sort != by_site:
                faults.append(f"{by_sort} bytes were copied to the {side}, and {by_site} by its sites")
    return faults if report["processes"] else ["it has no process"]


def main() -> None:
    folder, *files = map(Path, sys.argv[1:])
    failed = 0
    for file in files:
        document = json.loads(file.read_text())
        schema = json.loads((folder / "report.schema.json").read_text())
        faults = faults_of_schema(schema, document) or faults_of_report(document)
        failed += bool(faults)
        print(f"{'not ok' if faults else 'ok'} - {file.name} is what report.schema.json describes")
        for fault in faults[:5]:
            print(f"    {fault}")
    print(f"reports: {len(files) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
