"""Members of an archive that share bytes: a few of them would expand to many arrays."""

import os
import struct
import subprocess

import numpy as np

OPDUMP = os.environ["OPDUMP_BIN"]


def test_members_that_overlap_are_no_archive(tmp_path):
    file = tmp_path / "many.npz"
    np.savez_compressed(file, a=np.zeros(1 << 16), b=np.ones(1 << 16))
    assert subprocess.run([OPDUMP, "ls", file], capture_output=True, check=True)
    data = bytearray(file.read_bytes())
    first = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", first + 4)
    data[second + 16:second + 28] = data[first + 16:first + 28]  # check sum and sizes of a, too
    data[second + 42:second + 46] = data[first + 42:first + 46]
    assert struct.unpack_from("<I", data, second + 42) == (0,)
    file.write_bytes(data)
    done = subprocess.run([OPDUMP, "ls", file], capture_output=True, text=True)
    assert done.returncode == 3, done
    assert "two members overlap" in done.stdout + done.stderr, done
