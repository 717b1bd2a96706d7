#!/usr/bin/env python3
"""make_rules.py OPERATORS.jsonl MODEL.json: the graph that atc writes of a model in which nothing is fused, from the
operators of a recording."""
import json
import pathlib
import sys

from make_network import operator

log, rules = sys.argv[1:]
ops, before = [], []
for line in pathlib.Path(log).read_text().splitlines():
    record = json.loads(line)
    if record["kind"] != "operator":
        continue
    ops.append(operator(record["name"], record["type"], len(ops), before))
    before = [record["name"] + ":0"]
pathlib.Path(rules).write_text(json.dumps({"name": "net", "graph": [{"name": "net", "op": ops}]}))
