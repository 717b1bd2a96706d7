#!/usr/bin/env python3
"""Writes a network of two operators as CANN would dump it, what it should have computed, and the graph that joins both:
my/, npu2/, golden/, model.json, a.npy and b.npy, custom/algorithm/alg_Largest.py, all in the current directory."""
import json
import pathlib
import struct

import numpy as np

FLOAT16, NCHW, NC1HWC0 = 2, 0, 3


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A number, or a message or a text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def shape(dims):
    return b"".join(field(1, dim) for dim in dims)


def tensor(array, original, layout, fields):
    size, original_shape = fields
    return (field(1, FLOAT16) + field(2, layout) + field(3, shape(array.shape)) + field(size, array.nbytes) +
            field(original_shape, shape(original)))


def write_dump(path, inputs, outputs):
    """Arrays with their original shapes and layouts."""
    message = field(1, b"2.0") + field(2, 1700000000000000)
    message += b"".join(field(4, tensor(*item, (5, 6))) for item in inputs)
    message += b"".join(field(3, tensor(*item, (6, 7))) for item in outputs)
    payload = b"".join(item[0].tobytes() for item in [*inputs, *outputs])
    path.write_bytes(struct.pack("<Q", len(message)) + message + payload)


def blocked(array):
    """NCHW as NC1HWC0."""
    n, c, h, w = array.shape
    padded = np.zeros((n, (c + 15) // 16 * 16, h, w), np.float16)
    padded[:, :c] = array
    return np.ascontiguousarray(padded.reshape(n, -1, 16, h, w).transpose(0, 1, 3, 4, 2))


def operator(name, kind, number, source):
    attributes = [{"key": "_datadump_origin_name", "value": {"s": name}},
                  {"key": "_datadump_origin_output_index", "value": {"i": 0}},
                  {"key": "_datadump_origin_format", "value": {"s": "NCHW"}}]
    return {"name": name, "type": kind, "id": number, "input": source, "output_desc": [{"attr": attributes}],
            "attr": [{"key": "_datadump_original_op_names", "value": {"list": {"s": [name], "val_type": 1}}}]}


def main():
    for folder in ("my", "npu2", "golden", "custom/algorithm"):
        pathlib.Path(folder).mkdir(parents=True)
    conv = (np.arange(48, dtype=np.float32).reshape(1, 3, 4, 4) - 20) / 8
    relu = np.maximum(conv, 0)
    wrong = relu.copy()
    wrong[0, 2, 3, 1] = 0.5
    for folder, result in (("my", wrong), ("npu2", relu)):
        write_dump(pathlib.Path(folder, "Conv2D.conv1.3.5.1700000000000001"), [],
                   [(blocked(conv), conv.shape, NC1HWC0)])
        write_dump(pathlib.Path(folder, "Relu.relu1.4.5.1700000000000002"), [(blocked(conv), conv.shape, NC1HWC0)],
                   [(blocked(result), relu.shape, NC1HWC0)])
    np.save("golden/conv1.0.1700000000000003.npy", conv)
    np.save("golden/relu1.0.1700000000000004.npy", relu)
    np.save("a.npy", wrong)
    np.save("b.npy", relu)
    ops = [operator("conv1", "Conv2D", 1, []), operator("relu1", "Relu", 2, ["conv1:0"])]
    pathlib.Path("model.json").write_text(json.dumps({"name": "net", "graph": [{"name": "net", "op": ops}]}))
    pathlib.Path("custom/algorithm/alg_Largest.py").write_text(
        'def compare(my_output, ground_truth, args):\n'
        '    return "%.6f" % abs(my_output - ground_truth).max(), ""\n')


if __name__ == "__main__":
    main()
