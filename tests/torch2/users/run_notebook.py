"""Executes a notebook as `jupyter execute` does, and prints what its cells print."""

import nbformat
from nbclient import NotebookClient

CELLS = [
    "import torch, fingerprint\ntorch.manual_seed(4)\nmodel = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))",
    "x = torch.randn(16, 5)\noptimizer = torch.optim.Adam(model.parameters())",
    "for i in range(2):\n    optimizer.zero_grad()\n    loss = model(x).square().mean()\n    loss.backward()\n    optimizer.step()\n    print(i, loss.item().hex())",
    "fingerprint.of(model.state_dict())",
    "import atexit, time\n_ = atexit.register(time.sleep, 60)",  # as on a busy machine: the kernel is killed before it has ended
]

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
for cell in notebook.cells:
    for output in cell.outputs:
        print(output.get("text", output.get("data", {}).get("text/plain", "")).rstrip())
