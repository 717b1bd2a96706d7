#!/usr/bin/env python3
"""The table of docs/support.md, written by tools/matrix.sh from what ran.

facts                                what this interpreter is, as JSON
write PAGE ENVIRONMENT FACTS STORE REPORT
                                     adds the outcomes of a JUnit report to STORE, and puts the row of the environment into the
                                     page. A test that ran again replaces its outcome; another torch or Python empties STORE.
                                     What the page says of suites that STORE does not have stays, if torch and Python are the same.
"""

import datetime
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

NOT_RUN = "–"
BEGIN, END = "<!-- written by tools/matrix.sh -->", "<!-- end -->"
SUITES = {"`tests/conformance`": "tests.conformance.", "`torch2/test_adapter`": "tests.torch2.test_adapter",
          "`torch2/test_programs`": "tests.torch2.test_programs", "`torch2/test_users`": "tests.torch2.test_users",
          "`tests/device`": "tests.device."}
COLUMNS = ["environment", "system", "PyTorch", "Python", "compiler of the recorder", *SUITES, "last run"]
ORDER = ["debian12", "debian13", "between", "newest", "newest-python"]


def facts():
    import torch

    system = dict(line.rstrip("\n").split("=", 1) for line in open("/etc/os-release", encoding="utf-8") if "=" in line)
    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return {"system": system["PRETTY_NAME"].strip('"').split(" GNU")[0] + " " + system.get("VERSION_ID", "").strip('"'),
            "PyTorch": torch.__version__, "Python": ".".join(map(str, sys.version_info[:3])),
            "compiler of the recorder": f"gcc {compiler}"}


def outcomes(report):
    """Of each test case: passed, failed or skipped."""
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        outcome = "failed" if case.find("failure") is not None or case.find("error") is not None else \
            "skipped" if case.find("skipped") is not None else "passed"
        yield f"{case.get('classname')}::{case.get('name')}", outcome


def cell(known, prefix):
    """"31 passed, 2 skipped"; a dash if nothing of it ran."""
    found = [outcome for name, outcome in known.items() if name.startswith(prefix)]
    counts = [f"{found.count(outcome)} {outcome}" for outcome in ("passed", "failed", "skipped") if outcome in found]
    return ", ".join(counts) or NOT_RUN


def write(page, environment, known, store, report):
    page, store, known = pathlib.Path(page), pathlib.Path(store), json.loads(known)
    stored = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    if stored.get("facts") != known:
        stored = {"facts": known, "tests": {}}
    stored["tests"].update(outcomes(report))
    store.write_text(json.dumps(stored, indent=1), encoding="utf-8")

    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    if not after:
        sys.exit(f"{page}: no table between {BEGIN} and {END}")
    rows = {cells[0]: cells for cells in ([part.strip() for part in line.strip("|").split("|")] for line in table.splitlines()
                                          if line.startswith("| `")) if len(cells) == len(COLUMNS)}
    row = {"environment": f"`{environment}`", **known, **{suite: cell(stored["tests"], prefix) for suite, prefix in SUITES.items()},
           "last run": datetime.date.today().isoformat()}
    earlier = dict(zip(COLUMNS, rows.get(row["environment"], [])))
    if all(earlier.get(fact) == value for fact, value in known.items()):  # STORE may be of another machine
        row.update({suite: earlier[suite] for suite in SUITES if row[suite] == NOT_RUN})
    rows[row["environment"]] = [row[column] for column in COLUMNS]
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(rows[f"`{name}`"]) + " |" for name in ORDER if f"`{name}`" in rows]
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "facts":
        print(json.dumps(facts()))
    else:
        write(*sys.argv[2:])
