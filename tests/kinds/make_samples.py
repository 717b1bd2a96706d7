"""Writes a few small dumps for docs/reading.md: make_samples.py DIRECTORY."""
import pathlib
import sys

import h5py
import numpy as np

root = pathlib.Path(sys.argv[1])
matrix = np.arange(6, dtype="f4").reshape(2, 3)
vector = np.array([1, 2, 3], "f4")
np.savez(root / "golden.npz", conv1=matrix, fc=vector)
(root / "npy_folder").mkdir()
np.save(root / "npy_folder" / "conv1.npy", matrix)
np.save(root / "npy_folder" / "fc.npy", vector)
with h5py.File(root / "calls.h5", "w") as file:
    for argument, value in (("input/self", matrix), ("input/other", matrix), ("output/result", 2 * matrix)):
        dataset = file.create_dataset(f"add_Tensor/1/{argument}", data=value)
        for name, number in (("DeviceType", 0), ("DataType", 1), ("FormatType", 0), ("Type", 0)):
            dataset.attrs[name] = np.int32(number)
