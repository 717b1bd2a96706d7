"""Wrong use, and what the verbs say about themselves."""
import re

import pytest
from conftest import DATA, NEW, STAMP, dump_file, msaccucmp, needs_data, tensor

VERBS = ("convert", "overflow", "file_compare")


def wrong_uses():
    if not DATA.exists():
        return []
    blocks = (NEW / "cli_errors.txt").read_text().split("--- ")[1:]
    cases = [(block.splitlines()[0].strip(), block.splitlines()[1:]) for block in blocks]
    return [case for case in cases if not case[0].startswith("compare")]


@needs_data
@pytest.mark.parametrize("line, expected", wrong_uses(), ids=lambda value: value if isinstance(value, str) else "")
def test_wrong_use(line, expected, tmp_path):
    words = line.replace("@DATA@", str(DATA)).replace("@OUT@", str(tmp_path)).split()
    if words[-1:] == ["path"]:  # a path with a blank
        words[-2:] = [" ".join(words[-2:])]
    done = msaccucmp(*words)
    assert f"rc={done.returncode}" == expected[-1]
    said = [STAMP.sub("", text) for text in (done.stdout + done.stderr).splitlines()]
    said = [text.replace(str(DATA), "@DATA@").replace(str(tmp_path), "@OUT@") for text in said]
    said = [re.sub(r"file_result_\d+", "file_result", text) for text in said]
    assert said[-2:] == [re.sub(r"file_result_\d+", "file_result", text) for text in expected[:-1]]


@needs_data
@pytest.mark.parametrize("verb", VERBS)
def test_help(verb):
    done = msaccucmp(verb, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == (NEW / f"help_{verb}.txt").read_text().split("\n", 1)[1]


def test_more_wrong_use(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    file = tmp_path / "A.b.1.2.3"
    file.write_bytes(b"1234567")
    cases = [(["-d", empty], 6), (["-d", file, "-s", "1,2"], 6), (["-d", file, "-c", "x"], 6),
             (["-d", file, "-f", "NCHW", "-s", "12"], 23), (["-d", file, "-f", "NCHW", "-s", "1,0"], 23),
             (["-d", file, "-f", "NCHW", "-o", "x"], 6), (["-d", file, "-f", "NCHW", "-o", "0"], 12),
             (["-d", file, "-f", "NCHW", "-i", "99999999999999999999"], 12),
             (["-d", file, "-o", "0", "-i", "0"], 2), (["-d", file, "-v", "3"], 2), (["-d", file, "extra"], 2),
             (["-d", file, "--unknown"], 2), (["-d"], 2), ([], 2), (["-d", f"{file},{tmp_path}/no"], 0),
             (["-d", f"{tmp_path}/no,{tmp_path}/nothing"], 3), (["-d", file, "-f", "NCHW", "-c", tmp_path / "no"], 3)]
    for arguments, status in cases:
        assert msaccucmp("convert", *arguments, "-out", tmp_path / "o").returncode == status, arguments


def test_lists_of_files(tmp_path):
    """The first failure counts, as the user has ordered them; nothing between two commas is the current directory."""
    (tmp_path / "data").mkdir()
    files = {"good": [tensor(1, 0, (1, 1, 1, 1), bytes(4))], "format": [tensor(1, 30, (1, 1, 1, 1), bytes(4))], "none": None}
    for name, outputs in files.items():
        path = tmp_path / f"data/A.{name}.1.2.3"
        dump_file(path, outputs) if outputs else path.write_bytes(b"")
    good, unsupported, empty = (f"data/A.{name}.1.2.3" for name in files)
    for names, status, percent in [([unsupported, empty, empty], 22, 100), ([empty, unsupported, unsupported], 11, 100),
                                   ([good, empty, unsupported], 11, 100), ([good, ""], 0, 50), (["", good, ""], 0, 33), (["", ""], 0, None)]:
        done = msaccucmp("convert", "-d", ",".join(names), "-f", "NHWC", "-out", "out", cwd=tmp_path)
        assert done.returncode == status, names
        assert percent is None or f" {percent}%]" in done.stderr, names


def test_long_options_may_be_cut_short(tmp_path):
    file = tmp_path / "A.b.1.2.3"
    file.write_bytes(b"1234567")
    assert msaccucmp("convert", f"--dump={file}", "--out", tmp_path).returncode == 2  # ambiguous
    assert msaccucmp("convert", f"--dump={file}", "--output", tmp_path).returncode == 0
    assert msaccucmp("convert", f"-d{file}", "-out", tmp_path).returncode == 0


def test_nothing_is_an_option_behind_two_hyphens(tmp_path):
    for verb, words in (("convert", ["-d", "x"]), ("compare", ["-m", "x", "-g", "y"])):
        done = msaccucmp(verb, *words, "--", "-o", "0", "--version")
        assert done.returncode == 2
        assert done.stderr.endswith("msaccucmp.py: error: unrecognized arguments: -- -o 0 --version\n")
    done = msaccucmp("convert", "-d", "--", "x")
    assert done.returncode == 2 and done.stderr.endswith("error: argument -d/--dump_file: expected one argument\n")
    done = msaccucmp("convert", "-d", "x", "-t", "0", "-f")  # the first mistake
    assert "argument -t/--type: invalid choice: '0' (choose from 'npy', 'bin', 'msnpy', 'pt')" in done.stderr


@pytest.mark.parametrize("words, said", [
    (["-m", "my", "-g", "golden"], "invalid choice: 'my'"),  # the verb is the first word that is no option
    (["-v", "convert", "-d", "x"], "unrecognized arguments: -v"),
    (["-v", "compare", "-m", "x", "-g", "y", "z"], "unrecognized arguments: -v z"),
    (["--verbose", "-d"], "unrecognized arguments: --verbose -d"),
    (["-1", "convert"], "invalid choice: '-1'"), (["--", "convert"], "invalid choice: '--'"), (["--"], "unrecognized arguments: --"),
    (["--help=x"], "argument -h/--help: ignored explicit argument 'x'"), (["it's"], "invalid choice: \"it's\"")])
def test_words_before_the_verb(words, said):
    done = msaccucmp(*words)
    if said.startswith("invalid"):
        verbs = "'compare', 'convert', 'overflow', 'file_compare'"
        said = f"argument {{compare,convert,overflow,file_compare}}: {said} (choose from {verbs})"
    assert done.returncode == 2 and done.stderr.endswith(f"msaccucmp.py: error: {said}\n")
    assert done.stderr.startswith("usage: msaccucmp.py [-h]")


def test_help_before_the_verb():
    done = msaccucmp("-v", "--he", "convert")
    assert done.returncode == 0 and done.stdout == msaccucmp("-h").stdout


@pytest.mark.parametrize("words, said", [
    (["-alg", "12", "1", "all"], "argument -alg/--algorithm: invalid int value: 'all'"),  # all numbers before any choice
    (["-p", "1_0"], "argument -p/--post_process: invalid choice: 10 (choose from 0, 1)"),
    (["-ml", "1__0"], "argument -ml/--max_line: invalid int value: '1__0'"),
    (["-ml", "_1"], "argument -ml/--max_line: invalid int value: '_1'"),
    (["-n=--"], "argument -n/--topn: invalid int value: '--'"),  # a value, if it is attached
    (["-n--"], "argument -n/--topn: invalid int value: '--'"),
    (["--range=--", "-p=--"], "argument -p/--post_process: invalid int value: '--'"),
    (["-map=--"], "argument -map/--mapping: ignored explicit argument '--'"),
    (["-map=x"], "argument -map/--mapping: ignored explicit argument 'x'"),
    (["-map=p7"], "argument -p/--post_process: invalid choice: 7 (choose from 0, 1)"),  # letters of further options
    (["--mapping=p1"], "argument -map/--mapping: ignored explicit argument 'p1'"),
    (["-hp"], "argument -p/--post_process: expected one argument"),  # before -h
    (["-p", "\u0662"], "argument -p/--post_process: invalid choice: 2 (choose from 0, 1)"),  # digits of other scripts
    (["-p", "\uff11_\u0660\u00a0"], "argument -p/--post_process: invalid choice: 10 (choose from 0, 1)"),
    (["-p", "\u00b2"], "argument -p/--post_process: invalid int value: '\u00b2'"),
    (["-op", "-\u0663", "-p", "7"], "argument -p/--post_process: invalid choice: 7 (choose from 0, 1)"),  # and no option
    (["-op", "-1\n", "-p", "7"], "argument -p/--post_process: invalid choice: 7 (choose from 0, 1)"),
    (["-p", "-099999999999999999999"], "argument -p/--post_process: invalid choice: -99999999999999999999 (choose from 0, 1)"),
    (["-f", "\x0b\u3000\udcff'\u00e9"], "argument -f/--fusion_rule_file: invalid safe_path_string value: \"\\x0b\\u3000\\udcff'\u00e9\""),
    (["-alg", ":", "-alg", "1", "2"], "argument -alg/--algorithm: invalid safe_path_string value: ':'")])  # the first one decides
def test_words_as_argparse_reads_them(words, said):
    done = msaccucmp("compare", "-m", "x", "-g", "y", *words)
    assert done.returncode == 2 and done.stderr.endswith(f"msaccucmp.py compare: error: {said}\n")


def test_usage_with_a_list_of_numbers():
    done = msaccucmp("compare", "-alg", "1", "2", "-m")
    assert "[-alg {0,1,2,3,4,5,6,7,8,9} [{0,1,2,3,4,5,6,7,8,9} ...]]\n" in done.stderr
    assert "[-alg ALGORITHM]" in msaccucmp("compare", "-alg", "1", "-m").stderr


def test_an_option_of_ours_is_not_cut_short():
    done = msaccucmp("convert", "-d", "x", "--bug")
    assert done.returncode == 2 and done.stderr.endswith("error: unrecognized arguments: --bug\n")
    assert "--bug" not in msaccucmp("convert", "-d", "x", "--=1").stderr
