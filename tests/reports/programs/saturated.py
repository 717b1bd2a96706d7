# An operator that gives 65504 instead of an infinity in float16, as some devices do; a mask of that number is no such result.
import sys, torch
from torch.library import Library
library = Library("device", "DEF")
library.define("scaled(Tensor x, float by) -> Tensor")
library.impl("scaled", lambda x, by: (x.float() * by).clamp(-65504, 65504).half(), "CPU")
x = torch.tensor([1.0, 30000, -5], dtype=torch.half)
mask = torch.full((3,), torch.finfo(torch.half).min, dtype=torch.half)
(torch.tensor([3.0, 4.0, 5.0], dtype=torch.half) + mask).clone()
torch.ops.device.scaled(x, 3.0 if "bug" in sys.argv else 1.5).clone()
