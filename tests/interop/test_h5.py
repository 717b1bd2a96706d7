"""HDF5 files of ours seen by h5py and h5dump, and those of h5py seen by us. OPDUMP_H5_FILES is the program built from
h5_files.cc."""
import os
import subprocess

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
PROGRAM = os.environ["OPDUMP_H5_FILES"]


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def listing(path):
    done = run("list", path)
    assert done.returncode == 0, done.stderr
    return {row[0]: row[1:] for row in (line.split("\t") for line in done.stdout.splitlines())}


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    path = tmp_path_factory.mktemp("h5") / "ours.h5"
    done = run("write", path)
    assert done.returncode == 0, done.stderr
    return path


def test_h5py_reads_ours(ours):
    with h5py.File(ours, "r") as file:
        self = file["/add_Tensor/1/input/self"]
        np.testing.assert_array_equal(self[()], np.array([[1, 2, 3], [4, 5, 6]], "f4"))
        assert self.dtype == np.dtype("<f4") and self.chunks is None
        assert list(self.attrs["Stride"]) == [3, 1] and self.attrs["Stride"].dtype == np.dtype("<i8")
        assert self.attrs["DeviceType"] == 0 and self.attrs["DeviceType"].dtype == np.dtype("<i4")
        alpha = file["/add_Tensor/1/input/alpha"]
        assert alpha.shape == () and alpha[()] == 1
        assert alpha.attrs["Stride"].shape == (0,)
        assert list(file["/cat/2/input/tensors/tensors_0"][()]) == [1, -56, 0]
        assert file["/cat/2/output/result"].id.get_storage_size() == 0
        assert isinstance(file["/add_Tensor/1/output"], h5py.Group) and len(file["/add_Tensor/1/output"]) == 0


def test_h5dump_sees_the_attributes_in_order(ours):
    text = subprocess.run(["h5dump", "-d", "/add_Tensor/1/input/self", ours], capture_output=True, text=True, check=True).stdout
    assert "H5T_IEEE_F32LE" in text and "H5T_STD_I32LE" in text and "H5T_STD_I64LE" in text
    with h5py.File(ours, "r") as file:
        dataset = file["/add_Tensor/1/input/self"].id
        names = []
        h5py.h5a.iterate(dataset, lambda name: names.append(name.decode()), index_type=h5py.h5.INDEX_NAME,
                         order=h5py.h5.ITER_NATIVE)
    assert names == ["DeviceType", "DataType", "FormatType", "Type", "Stride"]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "?"])
@pytest.mark.parametrize("order", "<>")
def test_we_read_h5py(tmp_path, dtype, order):
    if order == ">" and dtype.startswith("c"):
        pytest.skip("complex of the other byte order is not read")
    values = (np.arange(6).reshape(2, 3) % 2).astype(np.dtype(dtype).newbyteorder(order))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["group/plain"] = values
        file.create_dataset("packed", data=values, chunks=(1, 3), compression="gzip", shuffle=True)
        file.create_dataset("checked", data=values, chunks=(2, 2), fletcher32=True)
    name = np.dtype(dtype).name
    expected = values.astype(np.dtype(dtype).newbyteorder("<")).tobytes().hex()
    rows = listing(tmp_path / "a.h5")
    is_foreign = order == ">" and np.dtype(dtype).itemsize > 1
    assert rows["/group/plain"] == [name, "(2,3)", "", "read" if is_foreign else "mapped", expected, ""]
    for dataset in ("/packed", "/checked"):
        assert rows[dataset] == [name, "(2,3)", "", "read", expected, ""]


def test_offsets_count_from_the_start_of_the_file(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=512) as file:
        file["x"] = np.arange(4, dtype="<i2")
    assert listing(tmp_path / "a.h5")["/x"] == ["int16", "(4)", "", "mapped", "0000010002000300", ""]


def test_nothing_outside_of_the_file_is_opened(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["secret"] = np.arange(4)
    (tmp_path / "raw.bin").write_bytes(b"\1" * 32)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["there"] = h5py.ExternalLink("other.h5", "/secret")
        file["loop"] = h5py.SoftLink("/loop")
        file["up"] = h5py.SoftLink("/")
        file.create_dataset("raw", (4,), "<i8", external=[(str(tmp_path / "raw.bin"), 0, 32)])
        layout = h5py.VirtualLayout(shape=(4,), dtype="<i8")
        layout[:] = h5py.VirtualSource("other.h5", "secret", shape=(4,))
        file.create_virtual_dataset("virtual", layout)
        file["group/real"] = np.zeros(2)
        file["group/again"] = file["group/real"]  # a second name
        file["group/self"] = file["group"]
        file["text"] = "words"
    rows = listing(tmp_path / "a.h5")
    assert set(rows) == {"/raw", "/virtual", "/group/again", "/text"}
    for dataset in ("/raw", "/virtual"):
        assert rows[dataset][4] == "" and "lie in other files, which are not opened" in rows[dataset][5]
    assert "other than numbers" in rows["/text"][5]


def test_a_shape_that_the_bytes_cannot_hold_is_refused(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("huge", (1 << 40,), "f8", chunks=(1 << 16,), compression="gzip")[0] = 1
    assert "does not fit in" in listing(tmp_path / "a.h5")["/huge"][5]


def test_many_groups_and_levels(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for i in range(3000):
            file[f"add_Tensor/{i}/input/self"] = np.float32(i)
        deep = file
        for _ in range(300):
            deep = deep.create_group("g")
    assert len(listing(tmp_path / "a.h5")) == 3000
