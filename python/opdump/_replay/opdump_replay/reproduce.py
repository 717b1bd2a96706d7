"""The script that `opdump reproduce` writes: an operator with its recorded inputs, without a dump and without opdump."""

from __future__ import annotations

import base64
import inspect
import textwrap
import zlib
from typing import Any, Optional

import torch

from . import wide

_MAX_INSIDE = 1 << 20  # bytes that lie in the script itself

_HEAD = '''"""An operator on the inputs that opdump recorded: {function}."""
# {name}
from __future__ import annotations

import base64
import pathlib
import zlib

import torch

{data}
{reference}
def tensor(dtype, shape, offset, size, wide):
    """A tensor of the recording; in float64 if `wide`."""
    flat = torch.frombuffer(bytearray(DATA[offset:offset + size]), dtype=dtype) if size else torch.zeros(0, dtype=dtype)
    made = flat.reshape(shape)
    if wide and made.is_complex():
        return made.to(torch.complex128)
    return made.to(torch.float64) if wide and made.is_floating_point() else made


def run(wide):
    written = []
    operator = {exact}torch.ops.{operator}
    result = operator({arguments})
    outputs = list(result) if isinstance(result, (tuple, list)) else [] if result is None else [result]
    return outputs + {extra}


recorded = {recorded}
with torch.no_grad():
    reference, here = run(True), run(False)
for index, output in recorded.items():
    exact = reference[index].to(torch.complex128 if reference[index].is_complex() else torch.float64)
    for title, values in (("recorded", output), ("here", here[index])):
        error = (values.to(exact.dtype) - exact).abs().nan_to_num(nan=float("inf")).flatten()
        worst = int(error.argmax()) if error.numel() else 0
        size = float(exact.abs().nan_to_num().square().sum().sqrt())
        print(f"output.{{index}} {{title}}: relative error {{float(error.square().sum().sqrt()) / (size or 1):.3g}}, worst element "
              f"{{worst}}: {{values.flatten()[worst].item() if error.numel() else None}}, exact "
              f"{{exact.flatten()[worst].item() if error.numel() else None}}")
'''


_ONNX_HEAD = '''"""An operator of ONNX on the inputs that opdump recorded: {function}."""
# {name}
import base64
import pathlib
import zlib

import numpy as np

{data}

def array(dtype, shape, offset, size):
    return np.frombuffer(DATA[offset:offset + size], dtype=dtype).reshape(shape)


inputs = {inputs}
recorded = {recorded}
exact = {exact}  # in float64


def run():
    """With ONNX Runtime on this machine."""
    import onnxruntime
    from onnx import ValueInfoProto, helper

    kinds = {{"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11}}
    node = helper.make_node({type!r}, {read!r}, {made!r}, domain={domain!r}, **{attributes!r})
    given = [helper.make_tensor_value_info(name, kinds[str(x.dtype)], x.shape) for name, x in inputs.items()]
    graph = helper.make_graph([node], "operator", given, [ValueInfoProto(name=name) for name in {made!r}])
    opsets = [helper.make_opsetid(domain, version) for domain, version in {opsets!r}]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip({made!r}, session.run(None, inputs)))


try:
    here = run()
except ImportError as missing:
    here = None
    print(f"not run here: this Python has no {{missing.name}}")
for name, output in recorded.items():
    for title, values in (("recorded", output), ("here", here and here[name])):
        if values is None:
            continue
        error = np.nan_to_num(np.abs(values.astype(np.float64) - exact[name]), nan=np.inf).reshape(-1)
        worst = int(error.argmax()) if error.size else 0
        size = float(np.sqrt(np.square(np.nan_to_num(exact[name])).sum()))
        print(f"output.{{name[1:]}} {{title}}: relative error {{float(np.sqrt(np.square(error).sum())) / (size or 1):.3g}}, worst element "
              f"{{worst}}: {{values.reshape(-1)[worst] if error.size else None}}, exact {{exact[name].reshape(-1)[worst] if error.size else None}}")
'''


class _Data:
    def __init__(self) -> None:
        self.bytes = bytearray()

    def append(self, tensor: torch.Tensor) -> tuple[int, int]:
        """Where its elements are, and how many bytes."""
        tensor = tensor.contiguous()
        raw = bytes(tensor.flatten().view(torch.uint8).numpy()) if tensor.numel() else b""
        offset = len(self.bytes)
        self.bytes += raw
        return offset, len(raw)

    def add(self, tensor: torch.Tensor, wide: str) -> str:
        offset, size = self.append(tensor)
        return f"tensor({tensor.dtype}, {list(tensor.shape)}, {offset}, {size}, {wide})"


def write_script(op: Any, request: dict[str, Any], stored: dict[int, torch.Tensor], outputs: dict[int, torch.Tensor]) -> None:
    """`op` is the replay's Operator; tensors are in the types that the program had."""
    data, given, written = _Data(), request["side"]["arguments"], []
    texts = []
    for a in op.schema.arguments:
        if a.name not in given:
            continue
        text = _spell(given[a.name], a, stored, data)
        if op.is_extra_output(a):
            name = f"written_{len(written)}"
            written.append(name)
            text = f"({name} := {text})"
        texts.append(f"{a.name}={text}" if a.kwarg_only else text)
    recorded = ", ".join(f"{i}: {data.add(x, 'False')}" for i, x in outputs.items())
    space, _, name = op.name.partition("::")
    name, _, overload = name.partition(".")
    reference = wide.REFERENCES.get(op.type)
    script = _HEAD.format(function=op.name, name=ascii(request["name"])[1:-1], data=_spell_data(data.bytes, request["script"]),
                          operator=f"{space}.{name}.{overload or 'default'}", arguments=", ".join(texts),
                          reference="\n\n" + inspect.getsource(reference) + "\n\n" if reference else "",
                          exact=f"{reference.__name__} if wide else " if reference else "",
                          extra="[" + ", ".join(written) + "]", recorded="{" + recorded + "}")
    script = script.replace("    written = []\n", "")
    with open(request["script"], "w", encoding="utf-8") as f:
        f.write(script)


def write_onnx_script(op: Any, request: dict[str, Any], stored: dict[int, torch.Tensor], outputs: dict[int, torch.Tensor],
                      exact: list[Optional[torch.Tensor]]) -> None:
    """`op` is an OnnxOperator. NumPy has no bfloat16: such tensors are float32 in the script, and the operator runs in it."""
    data = _Data()

    def spell(tensors: dict[int, torch.Tensor], letter: str) -> str:
        texts = []
        for i, x in tensors.items():
            x = x.to(torch.float32) if x.dtype == torch.bfloat16 else x
            offset, size = data.append(x)
            texts.append(f"'{letter}{i}': array({str(x.dtype)[6:]!r}, {list(x.shape)}, {offset}, {size})")
        return "{" + ", ".join(texts) + "}"

    known = {i: x.to(torch.float64) for i, x in enumerate(exact) if x is not None and i in outputs}
    domain = "" if op.domain == "onnx" else op.domain
    script = _ONNX_HEAD.format(
        function=op.name, name=ascii(request["name"])[1:-1], inputs=spell(stored, "x"),
        recorded=spell({i: outputs[i] for i in known}, "y"), exact=spell(known, "y"), data=_spell_data(data.bytes, request["script"]),
        type=op.onnx_type, read=[f"x{i}" if i in stored else "" for i in range(max(stored, default=-1) + 1)],
        made=[f"y{i}" for i in range(max(known, default=0) + 1)], domain=domain, attributes=op.attributes(request["side"]["arguments"]),
        opsets=[(domain, op.version)] + ([("", 17)] if domain else []))
    with open(request["script"], "w", encoding="utf-8") as f:
        f.write(script)


def _spell_data(raw: bytearray, script: str) -> str:
    if len(raw) > _MAX_INSIDE:
        with open(script + ".bin", "wb") as f:
            f.write(raw)
        return "DATA = pathlib.Path(__file__ + '.bin').read_bytes()\n"
    text = base64.b85encode(zlib.compress(bytes(raw))).decode()
    lines = "\n".join(f"    {line!r}" for line in textwrap.wrap(text, 110)) or "    ''"
    return f"DATA = zlib.decompress(base64.b85decode(\n{lines}))\n"


def _spell(value: Any, argument: Any, stored: dict[int, torch.Tensor], data: _Data) -> str:
    if isinstance(value, dict):
        if "float" in value:
            return f"float({value['float']!r})"
        return data.add(stored[value["tensor"]], "wide") if value["tensor"] in stored else "torch.empty(0)"
    if isinstance(value, list):
        return "[" + ", ".join(_spell(item, argument, stored, data) for item in value) + "]"
    if isinstance(value, str):
        if value.startswith("torch."):
            found = getattr(torch, value[6:])
            is_wide = isinstance(found, torch.dtype) and (found.is_floating_point or found.is_complex)
            wide = "torch.complex128" if is_wide and found.is_complex else "torch.float64"
            return f"({wide} if wide else {value})" if is_wide else value
        if "Device" in str(argument.type):
            return "torch.device('cpu')"
        if value == "Generator":
            return "None"
        return f"complex({value!r})" if "number" in str(argument.type) or "Scalar" in str(argument.type) else repr(value)
    return repr(value)
