#!/usr/bin/env python3
"""The table of docs/support.md, written by tools/matrix.sh from what ran.

facts                                what this interpreter is, as JSON
write PAGE ENVIRONMENT FACTS TESTS REPORT...
                                     puts the row of an environment into the page: FACTS, TESTS (which ran, in words), and
                                     the counts of JUnit reports
"""

import collections
import datetime
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

BEGIN, END = "<!-- written by tools/matrix.sh -->", "<!-- end -->"
COLUMNS = ["environment", "system", "PyTorch", "Python", "compiler of the recorder", "tests", "passed", "failed", "skipped", "date"]
ORDER = ["debian12", "debian13", "between", "newest", "newest-python"]


def facts():
    import torch

    system = dict(line.rstrip("\n").split("=", 1) for line in open("/etc/os-release", encoding="utf-8") if "=" in line)
    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    return {"system": system["PRETTY_NAME"].strip('"').split(" GNU")[0] + " " + system.get("VERSION_ID", "").strip('"'),
            "PyTorch": torch.__version__, "Python": ".".join(map(str, sys.version_info[:3])),
            "compiler of the recorder": f"gcc {compiler}"}


def counts(reports):
    number = collections.Counter()
    for report in reports:
        for suite in xml.etree.ElementTree.parse(report).iter("testsuite"):
            number.update({name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")})
    failed = number["failures"] + number["errors"]
    return {"passed": number["tests"] - failed - number["skipped"], "failed": failed, "skipped": number["skipped"]}


def write(page, environment, known, tests, *reports):
    page = pathlib.Path(page)
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    if not after:
        sys.exit(f"{page}: no table between {BEGIN} and {END}")
    rows = {cells[0]: cells for cells in ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
                                          if line.startswith("| `"))}
    row = {"environment": f"`{environment}`", **json.loads(known), "tests": tests, **counts(reports),
           "date": datetime.date.today().isoformat()}
    rows[row["environment"]] = [str(row[column]) for column in COLUMNS]
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(rows[f"`{name}`"]) + " |" for name in ORDER if f"`{name}`" in rows]
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "facts":
        print(json.dumps(facts()))
    else:
        write(*sys.argv[2:])
