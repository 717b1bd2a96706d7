"""make_msprobe.py DIRECTORY [--wrong]: a step as msprobe 26 writes it with the task statistics, for docs/reading.md."""
import json
import pathlib
import sys

rank = pathlib.Path(sys.argv[1]) / "step0" / "rank0"
rank.mkdir(parents=True)
largest = 1.5 if "--wrong" in sys.argv else 1.25


def tensor(shape, greatest=1.0):
    return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": shape, "Max": greatest, "Min": -1.0, "Mean": 0.125,
            "Norm": 2.0, "requires_grad": False}


MODULE = "Module.conv1.Conv2d.forward.0"
calls = {"Functional.conv2d.0.forward": {"input_args": [tensor([1, 1, 4, 4])], "input_kwargs": {"bias": tensor([2])},
                                         "output": [tensor([1, 2, 2, 2], largest)]},
         "Functional.conv2d.0.backward": {"input": [tensor([1, 2, 2, 2])], "output": [tensor([1, 1, 4, 4])]},
         "Module.conv1.Conv2d.parameters_grad.0": {"weight": [tensor([2, 1, 3, 3])], "bias": [tensor([2])]}}
files = {"dump.json": {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None, "data": calls},
         "construct.json": {"Functional.conv2d.0.forward": MODULE,
                            "Functional.conv2d.0.backward": MODULE.replace("forward", "backward"), MODULE: None},
         "stack.json": {"0": [["Functional.conv2d.0.forward"], ["File train.py, line 12, in forward, \n x = self.conv1(x)"]]}}
for name, content in files.items():
    (rank / name).write_text(json.dumps(content, indent=1))
