#!/usr/bin/env python3
"""Writes fuzz/seeds/result_file anew, after a change of the tables of a result: make_result_seeds.py OPDUMP"""
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SEEDS = ROOT / "fuzz/seeds/result_file"
OPDUMP = pathlib.Path(sys.argv[1]).resolve()

with tempfile.TemporaryDirectory() as work:
    def run(*words, status=(0,)):
        assert subprocess.run(words, cwd=work, stdout=subprocess.DEVNULL).returncode in status, words

    for dump, word in (("golden", "steps=2"), ("actual", "steps=2 fault")):
        run(sys.executable, ROOT / "tests/cli/make_dump.py", dump, *word.split())
    run(OPDUMP, "compare", "golden", "actual", "--save", "comparison.opdump", status=(1,))
    run(OPDUMP, "index", "golden", "-o", "index.opdump")
    for name in "comparison.opdump", "index.opdump":
        seed = SEEDS / name
        seed.unlink(missing_ok=True)
        with sqlite3.connect(pathlib.Path(work, name), isolation_level=None) as database:
            if name.startswith("comparison"):  # as opdump blame would
                database.execute("INSERT INTO culprits SELECT 1, value, 'output.0', 'own_error', 'certain', NULL, 'computes a wrong "
                                 "output.0' FROM result WHERE key = 'first_bad'")
            database.execute("DELETE FROM thumbnails WHERE rowid % 7 > 0")
            database.execute("PRAGMA page_size = 512")  # small pages: small files
            database.execute("VACUUM INTO ?", (str(seed),))
