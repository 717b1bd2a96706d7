"""Which algorithms `opdump msaccucmp compare` applies, and what it says of those it cannot. Needs no reference data."""
import os
import sys

import numpy as np
import pytest
from conftest import STAMP, msaccucmp

BUILTIN = ("['MeanRelativeError', 'StandardDeviation', 'MeanAbsoluteError', 'RelativeEuclideanDistance', 'MaxAbsoluteError', "
           "'KullbackLeiblerDivergence', 'CosineSimilarity', 'MaxRelativeError', 'RootMeanSquareError', 'AccumulatedRelativeError'")
GOOD = "def compare(mine, golden, args):\n    return 'mine', ''\n"


@pytest.fixture
def arrays(tmp_path):
    for name, factor in (("a", 1), ("b", 2)):
        np.save(tmp_path / f"{name}.npy", np.arange(1, 9, dtype=np.float32) * factor)
    return ["-m", tmp_path / "a.npy", "-g", tmp_path / "b.npy"]


def scripts(folder, **texts):
    (folder / "algorithm").mkdir(parents=True)
    for name, text in texts.items():
        (folder / f"algorithm/{name}.py").write_text(text)
    return folder


def run(arrays, *more, **options):
    done = msaccucmp("compare", *arrays, *more, env={**os.environ, "OPDUMP_PYTHON": sys.executable}, **options)
    return done, [STAMP.sub("", line) for line in done.stderr.splitlines()]


def values(lines):
    """The last table."""
    at = max(i for i, line in enumerate(lines) if line.endswith(" ") and "[INFO]" in line)
    return dict(zip(lines[at - 1].split()[1:], lines[at].split()[1:]))


def test_numbers_are_built_in_ones_and_names_may_replace_them(arrays, tmp_path):
    custom = scripts(tmp_path / "custom", alg_3=GOOD, alg_CosineSimilarity=GOOD, alg_Other=GOOD)
    done, lines = run(arrays, "-c", custom, "-alg", "3,0,1,Other")
    assert done.returncode == 0
    assert values(lines) == {"RelativeEuclideanDistance": "0.500000", "CosineSimilarity": "mine", "MaxAbsoluteError": "8.000000",
                             "Other": "mine"}
    done, lines = run(arrays, "-c", custom)  # all: the built-in ones
    assert done.returncode == 0 and len(values(lines)) == 10 and values(lines)["CosineSimilarity"] == "mine"


@pytest.mark.parametrize("text, said", [
    ("", "has no attribute 'compare'. Please check the file."),
    ("compare = 3\n", "is not function. Please check the file."),
    ("def compare(a, b):\n    pass\n", "is not 3. Please check the file.")])
def test_scripts_without_a_function(text, said, arrays, tmp_path):
    """They are known, but left out; alone they end the run."""
    custom = scripts(tmp_path / "custom", alg_Bad=text)
    done, lines = run(arrays, "-c", custom, "-alg", "Bad,1")
    assert done.returncode == 0 and values(lines) == {"MaxAbsoluteError": "8.000000"}
    assert said in done.stderr and "does not supported in builtin" not in done.stderr
    done, lines = run(arrays, "-c", custom, "-alg", "Bad")
    assert done.returncode == 31
    assert f"[ERROR] The algorithm in ['Bad'] does not supported. Just supports {BUILTIN}, 'Bad']. Please check the select algorithm name." in lines
    done, lines = run(arrays, "-c", custom, "-alg", "Nothing,")
    assert done.returncode == 31
    assert "[WARNING] The 'Nothing' does not supported in builtin or custom. Please check the algorithm name or algorithm index." in lines
    assert f"[ERROR] The algorithm in 'Nothing,' does not supported. Just supports {BUILTIN}, 'Bad']. Please check the select algorithm name." in lines


def test_answers_that_are_no_text(arrays, tmp_path):
    custom = scripts(tmp_path / "custom", alg_Number="def compare(a, b, args):\n    return 5, ''\n",
                     alg_None="def compare(a, b, args):\n    return 'x', None\n")
    done, lines = run(arrays, "-c", custom, "-alg", "Number,None")
    assert done.returncode == 0 and values(lines[:-2]) == {"Number": "NaN", "None": "NaN"}
    for name in ("Number", "None"):
        assert f"[WARNING] Failed to execute 'compare' in '{name}'. compare" in lines


def test_what_is_told_of_the_directory(arrays, tmp_path):
    """Paths are shown as they are given."""
    (tmp_path / "none").mkdir()
    assert "[WARNING] There is no 'algorithm' in ''none'', please check the custom path." in run(arrays, "-c", "none", cwd=tmp_path)[1]
    custom = scripts(tmp_path / "custom", other="", __init__="")
    lines = run(arrays, "-c", "custom/", cwd=tmp_path)[1]
    assert "[WARNING] The file ''other.py'' does not match 'alg_{algorithm_name}.py' in ''custom/algorithm'', please check the file." in lines
    assert "[WARNING] There is no legal 'alg_{algorithm_name}.py' file in ''custom/algorithm'', please check the path." in lines
    (custom / "algorithm/deep").mkdir()
    (custom / "algorithm/deep/data.txt").write_text("x")
    os.chmod(custom / "algorithm/deep/data.txt", 0o666)
    assert run(arrays, "-c", custom)[0].returncode == 3
    os.chmod(custom / "algorithm/deep/data.txt", 0o644)
    (custom / "algorithm/deep/data.txt").write_bytes(bytes((1 << 20) + 1))
    done, lines = run(arrays, "-c", "custom", cwd=tmp_path)
    assert done.returncode == 1
    assert "[WARNING] The size (1048577) of 'custom/algorithm/deep/data.txt' exceeds 1MB, it may task more time to run, please wait." in lines
    assert run(arrays, "-c", tmp_path / "nothing")[0].returncode == 3


def test_a_compiled_script(arrays, tmp_path):
    import py_compile
    custom = scripts(tmp_path / "custom", alg_Made=GOOD)
    py_compile.compile(str(custom / "algorithm/alg_Made.py"), str(custom / "algorithm/alg_Made.pyc"))
    (custom / "algorithm/alg_Made.py").unlink()
    assert values(run(arrays, "-c", custom, "-alg", "Made")[1]) == {"Made": "mine"}


@pytest.mark.parametrize("options, status", [("1:a=1", 0), ("MaxAbsoluteError:a=1, b = 2;;0:", 0), ("nobody:a=1", 0), ("1", 6), ("1:a", 6),
                                             ("1:a=", 6), ("1:a=1=2", 6), (":a=1", 6), ("1:a=1:b=2", 6), (" ", 6)])
def test_options(options, status, arrays):
    done, lines = run(arrays, "-a", options)
    assert done.returncode == status
    assert status == 0 or f"[ERROR] The algorithm argument ('{options}') is invalid, just supports " \
        "\"algorithm_name:name1=value1,name2=value2;\"." in lines


@pytest.mark.parametrize("words, status", [(["-n", "5"], 6), (["--topn", "5"], 6), (["-n5"], 0), (["--topn=5"], 0), (["-ml", "20000"], 6),
                                           (["-ml=20000"], 0), (["--max_l", "20000"], 0), (["--ignore_single_op_result"], 6),
                                           (["--ignore"], 0)])
def test_options_of_one_operator_by_their_spelling(words, status, arrays):
    """Without -op they are refused only if they are words of their own."""
    assert run(arrays, *words)[0].returncode == status


def test_the_smallest_norm_that_is_not_zero(tmp_path):
    """Of mine up to and with 2**-52 counts as zero, of the other one only below."""
    tiny, zero = np.array([2.0**-52, 0], np.float32), np.zeros(2, np.float32)
    for name, left, right, cosine in (("a", tiny, zero, "1.0"), ("b", zero, tiny, "NaN"), ("c", zero, zero, "1.0"), ("d", zero, tiny / 2, "1.0")):
        np.save(tmp_path / f"{name}1.npy", left)
        np.save(tmp_path / f"{name}2.npy", right)
        done = msaccucmp("compare", "-m", tmp_path / f"{name}1.npy", "-g", tmp_path / f"{name}2.npy", "-alg", "0")
        assert f"[INFO] {cosine}" in done.stderr, name
