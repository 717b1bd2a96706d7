#!/usr/bin/env python3
"""Writes a result file of very many operators, as `opdump compare --save` would of a large training job, to measure
`opdump view` with (bench/view_scale.py).

    large_result.py OPDUMP FILE [OPERATORS]      default: 1000000, ten steps

Names, shapes and errors are made up; the tables and their columns are those of the program.
"""
import math
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

STEPS = 10
SUBMODULES = ("self_attn/q_proj-Linear", "self_attn/k_proj-Linear", "self_attn/v_proj-Linear", "self_attn/o_proj-Linear",
              "mlp/gate_proj-Linear", "mlp/up_proj-Linear", "mlp/down_proj-Linear", "input_layernorm-RMSNorm",
              "post_attention_layernorm-RMSNorm", "self_attn")
TYPES = ("addmm", "native_layer_norm", "mul", "add", "_softmax", "bmm", "gelu", "transpose")
SHARES = (0.5, 0.9, 0.99, 1.0)


def names_of_step(count):
    for i in range(count):
        phase = ("forward", "backward", "optimizer")[min(2, 3 * i // count)]
        layer, rest = divmod(i % (count // 3 + 1), 120)
        root = "Gradients/Default" if phase == "backward" else "Default"
        kind = TYPES[i % len(TYPES)]
        module = f"{root}/model-Model/layers-ModuleList/{layer}-Layer/{SUBMODULES[rest % len(SUBMODULES)]}"
        yield phase, kind, module, f"{module}/{kind}-op{i}"


def write(opdump, path, operators, dumps=("golden", "actual"), first_bad_shape="(64,1024)"):
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 8192")  # as opdump
    for table in tables_of(opdump).splitlines():
        database.execute("CREATE TABLE " + table)
    columns = {name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
               for name in ("operators", "slots", "pairs", "quantiles", "edges")}

    def insert(table, rows):
        marks = ",".join("?" * len(columns[table]))
        database.executemany(f"INSERT INTO {table} VALUES({marks})", rows)

    random.seed(1)
    per_step = operators // STEPS
    slot = 0
    number = 0
    first_bad = None
    for step in range(STEPS):
        batch = {table: [] for table in columns}
        previous = None
        for place, (phase, kind, module, name) in enumerate(names_of_step(per_step)):
            number += 1
            drift = 10 ** (-4 + 5 * place / per_step + random.gauss(0, 0.5)) if step > 0 else 10 ** random.gauss(-4, 0.5)
            verdict = "match" if drift <= 1 else "own_error" if random.random() < 0.02 else "inherited"
            if verdict != "match" and first_bad is None:
                first_bad, verdict = number, "own_error"
            batch["operators"].append((number, 0, 0, step, phase, kind, name, name, module, "train.py", 10 + place % 500,
                                       "train.py:10:main", verdict, "both", None, slot + 3, drift, drift / 3))
            for position, side in enumerate(("input", "input", "output")):
                slot += 1
                error = drift if side == "output" else drift / 3
                differs = error > 1
                index = position if side == "input" else 0
                batch["slots"].append((slot, number, f"{side}.{index}", side, index, "float32", "float32", "(64,1024)",
                                       "DefaultFormat", "golden/x.npy", "actual/x.npy", None))
                batch["pairs"].append((slot, ("inherited" if differs else "match"), "elements", 65536, 262144,
                                       int(65536 * min(1, error)) if differs else 0, 0, 1 - 1e-9 * error, 1e-5 * error,
                                       1e-4 * error, 1e-6 * error, 1e-7 * error, 1e-6 * error, 1.3e-6, 1e-5, 7, 0.5,
                                       0.5 + 1e-5 * error))
                batch["quantiles"] += [(slot, "scaled", share, error * share ** 4) for share in SHARES]
            if step == 0 and previous is not None:
                for at in ("golden", "actual"):
                    batch["edges"].append((at, 0, 0, previous, "operator", 0, name, 0, "float32", "(64,1024)"))
            previous = name
        for table, rows in batch.items():
            insert(table, rows)
    database.execute("UPDATE slots SET shape = ? WHERE operator = ? AND name = 'output.0'", (first_bad_shape, first_bad))
    facts = {"command": "bench/large_result.py", "golden": str(dumps[0]), "actual": str(dumps[1]), "opdump_version": "bench",
             "created_us": 0, "outcome": "differs", "first_bad": first_bad,
             "conclusion": f"first bad operator: number {first_bad} — inputs match, output differs", "coverage": "made up"}
    database.executemany("INSERT INTO result VALUES(?, ?)", facts.items())
    for index, on in (("slots_operator", "slots(operator)"), ("operators_name", "operators(name)"),
                      ("quantiles_slot", "quantiles(slot)"), ("worst_slot", "worst(slot)"),
                      ("thumbnails_slot", "thumbnails(slot)"), ("statistics_slot", "statistics(slot)"),
                      ("edges_consumer", "edges(consumer)"), ("edges_producer", "edges(producer)"),
                      ("arguments_operator", "arguments(operator)")):
        database.execute(f"CREATE INDEX {index} ON {on}")
    database.execute("PRAGMA application_id = 1869636720")
    database.execute("PRAGMA user_version = 4")
    database.commit()
    database.close()
    assert math.isclose(number, operators, rel_tol=0.01)
    return first_bad


def tables_of(opdump):
    """The tables as the program lists them; it wants a result to do so."""
    tool = pathlib.Path(__file__).resolve().parents[1] / "tests/cli/make_dump.py"
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([sys.executable, tool, "one"], cwd=work, check=True)
        subprocess.run([opdump, "index", "one", "-o", "one.opdump"], cwd=work, check=True, stdout=subprocess.DEVNULL)
        return subprocess.run([opdump, "query", "one.opdump", "--tables"], cwd=work, check=True, capture_output=True,
                              text=True).stdout


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]).absolute(), pathlib.Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000)
