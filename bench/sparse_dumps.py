#!/usr/bin/env python3
"""Writes a result of very many operators and both of its dumps, a terabyte of sparse files, for bench/view_scale.py.

    sparse_dumps.py OPDUMP FOLDER [OPERATORS]     default: 1000000 operators in ten steps, FOLDER/run.opdump

Each operator has an output of 512 KiB on either side, the first bad one of 8 GiB. Equal files are links, as in dumps of
opdump. The files take some megabytes, their names some hundred.
"""
import json
import os
import pathlib
import sys

import numpy as np

import large_result

SHAPE, FIRST_BAD_SHAPE = (256, 512), (32768, 65536)
LINKS = 60_000  # of one file; ext4 allows 65,000


def write_tensor(path, shape, values):
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        begin = file.tell()
        file.truncate(begin + 4 * shape[0] * shape[1])
        for (row, column), value in values.items():
            file.seek(begin + 4 * (row * shape[1] + column))
            file.write(np.float32(value).tobytes())


def write_dump(root, operators, first_bad, error):
    rank = root / "rank_0"
    rank.mkdir(parents=True)
    per_step = operators // large_result.STEPS
    names = list(large_result.names_of_step(per_step))
    with open(rank / "operators.jsonl", "w") as log:
        for place, (phase, kind, _, name) in enumerate(names):
            log.write(json.dumps({"kind": "operator", "type": kind, "name": name, "phase": phase, "graph_id": 0, "stream": 0,
                                  "source_file": "train.py", "source_line": 10 + place % 500}) + "\n")
    files = [f"{kind}.{name.translate(str.maketrans('/. ', '___'))}.0.0.{1700000000000000 + place}.output.0.DefaultFormat.npy"
             for place, (_, kind, _, name) in enumerate(names)]
    source, written = None, 0
    for step in range(large_result.STEPS):
        directory = rank / "net" / "0" / str(step)
        directory.mkdir(parents=True)
        for place, file in enumerate(files):
            if step * per_step + place + 1 == first_bad:
                write_tensor(directory / file, FIRST_BAD_SHAPE, {(0, 0): 1, (12345, 54321): 2 + error, (32767, 65535): -3})
            elif written % LINKS == 0 or source is None:
                source = directory / file
                write_tensor(source, SHAPE, {(1, 2): 1 + error})
            else:
                os.link(source, directory / file)
            written += 1


def main():
    opdump, folder = map(os.path.abspath, sys.argv[1:3])
    folder = pathlib.Path(folder)
    operators = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
    folder.mkdir()
    dumps = [folder / side for side in ("golden", "actual")]
    shape = str(FIRST_BAD_SHAPE).replace(" ", "")
    first_bad = large_result.write(opdump, folder / "run.opdump", operators, dumps, shape)
    for side, error in zip(dumps, (0, 0.25)):
        write_dump(side, operators, first_bad, error)
    print(f"{2 * operators * 4 * SHAPE[0] * SHAPE[1] / 2**40:.2f} TiB in {2 * operators:,} files; first bad operator: {first_bad}")


if __name__ == "__main__":
    main()
