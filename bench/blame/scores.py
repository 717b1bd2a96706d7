"""How the benches of blame print what they counted."""

from __future__ import annotations

import collections
from typing import Sequence


def print_scores(scores: dict[str, dict[str, collections.Counter]], order: Sequence[str]) -> None:
    """A table for each verb of opdump: its rows by name, and those of the columns in which something was counted."""
    for verb, rows in scores.items():
        columns = [c for c in order if any(row[c] for row in rows.values())]
        print(f"\n`opdump {verb}`\n\n| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
        for name in sorted(rows):
            print(f"| {name} | " + " | ".join(str(rows[name][c]) for c in columns) + " |")
