"""Children that are programs of their own: their output, environment, descriptors."""

import os
import subprocess
import torch
from printed import *

torch.manual_seed(0)
with watched():
    x = torch.randn(3)
    show("shell", subprocess.run(["sh", "-c", "echo out; echo err >&2; exit 4"]).returncode)
    listed = subprocess.run([sys.executable, "-S", "-c", "import os; print(sorted(os.listdir('/proc/self/fd'))[:-1])"], close_fds=False,
                            capture_output=True, text=True)
    show("descriptors", listed.stdout)
    program = "import torch; torch.manual_seed(3); print(torch.randn(2) * 2)"
    python = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    show("python", python.returncode, python.stdout)
    show("x", x * 2, os.system("exit 3"))
show_state()
