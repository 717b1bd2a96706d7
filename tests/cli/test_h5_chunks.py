"""Datasets of HDF5 that lie in chunks, or in big endian, whatever their shapes."""
import os
import subprocess

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

CASES = [  # shape, chunks, what is special
    ((), None, {}), ((0, 3), None, {"maxshape": (None, 3)}), ((7,), (3,), {}), ((3000001,), (1000,), {"compression": "gzip"}),
    ((3000001,), (3000001,), {"compression": "gzip"}), ((1500, 1501), (1500, 7), {"compression": "gzip"}),
    ((1500, 1501), (7, 1501), {"shuffle": True, "compression": "gzip"}), ((1500, 1501), (400, 400), {"fletcher32": True}),
    ((1500, 1501), None, {"dtype": ">f8"}), ((120, 130, 9, 11), (50, 1, 9, 2), {"compression": "gzip"}),
    ((120, 130, 9, 11), (1, 130, 1, 11), {"dtype": ">i2"}), ((2, 1, 800000), (1, 1, 300000), {"compression": "gzip"})]


def test_chunks(tmp_path):
    arrays = {}
    with h5py.File(tmp_path / "all.h5", "w") as file:
        for i, (shape, chunks, more) in enumerate(CASES):
            count = int(np.prod(shape))
            array = (np.arange(count) * 7919 % 30011).astype(more.pop("dtype", "<f4")).reshape(shape)
            file.create_dataset(f"add_Tensor/{i}/output/result", data=array, chunks=chunks, **more)
            arrays[i] = array
    subprocess.run([os.environ["OPDUMP_BIN"], "convert", tmp_path / "all.h5", "-o", tmp_path / "out"], check=True,
                   capture_output=True)
    found = [np.load(file) for file in (tmp_path / "out").rglob("*.npy")]
    assert len(found) == len(CASES)
    for i, array in arrays.items():
        native = array.astype(array.dtype.newbyteorder("="))
        assert any(np.array_equal(each, native) and each.dtype == native.dtype and each.shape == native.shape
                   for each in found), CASES[i]
