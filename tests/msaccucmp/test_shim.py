"""msaccucmp.py, the file of the original's name."""
import os
import pathlib
import shutil
import subprocess
import sys

SHIM = pathlib.Path(__file__).resolve().parents[2] / "python/msaccucmp.py"
OPDUMP = os.environ["OPDUMP_BIN"]


def run(shim, *arguments, **environment):
    environment = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run([sys.executable, "-I", shim, *map(str, arguments)], capture_output=True, text=True, env=environment)


def test_same_answers(tmp_path):
    for words in (["convert", "-h"], ["convert"], ["convert", "-d", tmp_path / "no"], ["foo"], [],
                  ["overflow", "-d", tmp_path, "-out", tmp_path]):
        theirs = run(SHIM, *words, OPDUMP=OPDUMP)
        ours = subprocess.run([OPDUMP, "msaccucmp", *map(str, words)], capture_output=True, text=True)
        assert (theirs.returncode, theirs.stdout) == (ours.returncode, ours.stdout), words


def test_where_the_program_is(tmp_path):
    shim = shutil.copy(SHIM, tmp_path)
    done = run(shim, "convert", "-h", PATH="/nowhere")
    assert done.returncode == 1 and "there is no opdump" in done.stderr
    assert run(shim, "convert", "-h", PATH=os.path.dirname(OPDUMP)).returncode == 0
    (tmp_path / "opdump").symlink_to(OPDUMP)
    assert run(shim, "convert", "-h", PATH="/nowhere").returncode == 0
