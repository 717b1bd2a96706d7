"""Symbolic links where `opdump msaccucmp` takes a path. Needs no reference data."""
import numpy
import pytest
from conftest import convert, dump_file, msaccucmp, tensor


@pytest.fixture
def places(tmp_path):
    """A directory with a dump, and links to it and to an array."""
    (tmp_path / "dump").mkdir()
    dump_file(tmp_path / "dump/Add.a.1.2.1700000000000001", [tensor(1, 2, (2,), bytes(8))])
    numpy.save(tmp_path / "a.npy", numpy.ones(2))
    (tmp_path / "link").symlink_to(tmp_path / "dump")
    (tmp_path / "l.npy").symlink_to(tmp_path / "a.npy")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    return tmp_path


REFUSED = [["overflow", "-d", "link", "-out", "o"], ["overflow", "-d", "dump/../link/", "-out", "o"], ["overflow", "-d", "dump", "-out", "link"],
           ["overflow", "-d", "dump", "-out", "gone"], ["file_compare", "-m", "l.npy", "-g", "a.npy", "-out", "o"],
           ["file_compare", "-m", "a.npy", "-g", "a.npy", "-out", "link"], ["compare", "-m", "link/", "-g", "dump", "-out", "o"],
           ["compare", "-m", "l.npy", "-g", "a.npy"]]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_links_that_are_refused(words, places):
    done = msaccucmp(*words, cwd=places)
    assert done.returncode == 3 and "is a softlink, not permitted." in done.stderr
    assert not (places / "nowhere").exists() and not (places / "o").exists()


def test_links_that_are_taken(places):
    """The original looks at where they lead first; a directory's files may be links here."""
    (places / "dump/Add.b.1.2.1700000000000002").symlink_to(places / "dump/Add.a.1.2.1700000000000001")
    assert convert("-d", "link", "-out", "o", cwd=places).returncode == 0
    assert len(list((places / "o").iterdir())) == 2


@pytest.mark.parametrize("words, status, said", [
    (["overflow", "-d", "", "-out", "o"], 6, "The path is null."), (["overflow", "-d", "dump", "-out", ""], 6, "The path is null."),
    (["file_compare", "-m", "a.npy", "-g", "a.npy", "-out", ""], 3, "The path is null."),
    (["overflow", "-d", "a.npy", "-out", "o"], 3, "The path \"'a.npy'\" is not a directory. Please check the path."),
    (["file_compare", "-m", "a.npy", "-g", "a.npy", "-out", "a.npy"], 3, "The path \"'a.npy'\" is not a directory.")])
def test_paths_that_are_shown_as_given(words, status, said, places):
    done = msaccucmp(*words, cwd=places)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
