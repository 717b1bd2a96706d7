"""Which cases of a test run: OPDUMP_CASES of them, evenly spread over its parameters; all without it, or with "all". A plugin of
pytest that tests/CMakeLists.txt names."""

import collections
import os

import pytest


@pytest.hookimpl(trylast=True)  # what other options leave out is no case
def pytest_collection_modifyitems(config, items):
    limit = os.environ.get("OPDUMP_CASES", "all")
    if limit == "all":
        return
    cases = collections.defaultdict(list)
    for item in items:
        cases[item.nodeid.split("[")[0]].append(item)
    kept = set()
    for of_test in cases.values():
        count = min(int(limit), len(of_test))
        kept.update(of_test[place * (len(of_test) - 1) // max(count - 1, 1)] for place in range(count))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
