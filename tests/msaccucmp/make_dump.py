#!/usr/bin/env python3
"""make_dump.py DIRECTORY: writes two operators as CANN dumps them, and the record that one of them overflowed."""
import pathlib
import struct
import sys

from conftest import dump_file, tensor

HALF, BYTE, ND, NC1HWC0 = 2, 4, 2, 3

folder = pathlib.Path(sys.argv[1])
folder.mkdir()
image = struct.pack("<64e", *range(64))
dump_file(folder / "Conv2D.conv1.3.5.1700000000000001", name="net/conv1",
          inputs=[tensor(HALF, NC1HWC0, (1, 1, 2, 2, 16), image, (1, 3, 2, 2), is_input=True)],
          outputs=[tensor(HALF, NC1HWC0, (1, 1, 2, 2, 16), image, (1, 8, 2, 2))])
dump_file(folder / "Add.add1.4.5.1700000000000003", name="net/add1",
          outputs=[tensor(HALF, ND, (2, 3), struct.pack("<6e", 0, 1, 2, 3, 4, 65504))])
record = bytearray(2048)
struct.pack_into("<4Q", record, 256, 1, 5, 4, 0)
struct.pack_into("<3Q", record, 1024, 0xabc, 0, 16)
dump_file(folder / "Opdebug.Node_OpDebug.4.5.1700000000000002", [tensor(BYTE, ND, (2048,), bytes(record))])
