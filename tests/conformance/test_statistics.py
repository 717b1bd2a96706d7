"""Every statistic of every dtype and stride, against numpy on the dumped tensors."""

import hashlib

import numpy as np
import pytest

from conftest import Runner

CATEGORIES = ["max", "min", "avg", "count", "negative zero count", "positive zero count", "nan count",
              "negative inf count", "positive inf count", "zero count", "md5", "l2norm"]

PROGRAM = """
    import torch

    torch.manual_seed(1)
    dtypes = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
              torch.float32, torch.float64]
    for dtype in dtypes:
        for special in (False, True):
            base = (torch.randn(33, 40, 6) * 50).to(dtype)
            if special and dtype.is_floating_point:
                base[0, 0, 0], base[3, 4, 5], base[5, 5, 5], base[6, 6, 0] = float("inf"), -float("inf"), 0.0, -0.0
            if special and dtype in (torch.float32, torch.float16):
                base[7, 7, 3] = float("nan")
            big = base.repeat(9, 9, 9) if not special else base
            for view in (base, base.t() if base.dim() == 2 else base.permute(2, 0, 1), base[1:30:3, ::2, 1:], base[4, 5],
                         base[:1].expand(7, 40, 6), base[2, 3, 4], big):
                view.clone()
"""


@pytest.fixture(scope="module", params=["full", "statistic"])
def dumps(request, tmp_path_factory):
    """The dump to be checked and one with the tensors: the program is deterministic, so they are the same."""
    runner = Runner(tmp_path_factory.mktemp(request.param))
    full = runner.run(PROGRAM, saved_data="full", statistic_category=CATEGORIES)
    if request.param == "full":
        return full, full
    return runner.run(PROGRAM, saved_data="statistic", statistic_category=CATEGORIES), full


def matches(text, expected):
    """Six printed digits of `expected`."""
    if np.isnan(expected):
        return text in ("nan", "-nan")
    if np.isinf(expected) or float(text) == 0:
        return float(text) == expected
    return abs(float(text) - expected) <= 1.01e-5 * abs(expected) or text == f"{expected:g}"


def test_all_statistics_agree_with_numpy(dumps):
    dump, full = dumps
    rows = dump.rows()
    assert list(rows.columns[10:]) == ["Max Value", "Min Value", "Avg Value", "Count", "Negative Zero Count",
                                       "Positive Zero Count", "NaN Count", "Negative Inf Count", "Positive Inf Count",
                                       "Zero Count", "MD5", "L2Norm Value"]
    with open(dump.path / "net/0/0/statistic.csv") as file:
        printed = [line.split('",')[1].split(",") for line in file.read().splitlines()[1:]]
    files = full.files()
    dtypes = set()
    with np.errstate(all="ignore"):
        for (_, row), values in zip(rows.iterrows(), printed):
            if row["Op Type"] != "clone":
                continue
            dtypes.add(row["Data Type"])
            stored = np.load(files[(row["Op Name"], f"{row['IO']}.{row['Slot']}")])
            x = stored.astype(np.float64)
            # The average is a sum of many signs; what its order may change is measured against the size of the elements.
            avg, slack = x.mean(), 1e-12 * np.abs(x).max()
            where = (row["Op Name"], row["IO"], row["Data Type"], stored.shape)
            assert matches(values[0], x.max()) and matches(values[1], x.min()), where
            assert matches(values[2], avg) or abs(float(values[2]) - avg) <= slack, (where, values[2], avg)
            assert [int(v) for v in values[3:10]] == [x.size, (x < 0).sum(), (x > 0).sum(), np.isnan(x).sum(),
                                                      np.isneginf(x).sum(), np.isposinf(x).sum(), (x == 0).sum()], where
            if row["Data Type"] != "bfloat16":  # its file is wider than the tensor
                assert values[10] == hashlib.md5(np.ascontiguousarray(stored).tobytes()).hexdigest(), where
            assert matches(values[11], np.sqrt((x * x).sum())), where
    assert dtypes == {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"}
