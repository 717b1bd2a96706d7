"""The executed graph: .ir, .pb, execution order, history (mindspore.md 5). The patterns are those of the tools that read
such files."""

import csv
import re
import subprocess

import pytest

from conftest import OPDUMP, sanitise

NET = """
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.Linear(3, 4)
            self.relu = nn.ReLU()
            self.fc2 = nn.Linear(4, 2)

        def forward(self, x):
            y = self.relu(self.fc1(x))
            return self.fc2(y)

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for step in range(4):
        optimizer.zero_grad()
        net(torch.ones(2, 3)).square().sum().backward()
        optimizer.step()
"""

# The patterns that MindSpore's own test helper and msprobe use.
NODE = re.compile(r"^  %[0-9]+?\(\w+?\) = .+$")
TYPES = re.compile(r"^      : (\(.*\)) -> (\(.*\))$")
FULL_NAME = re.compile(r"^      # Fullname with scope: \((.*)\)$")
MSPROBE_NODE = re.compile(r"(%\d+)\(([A-Za-z0-9_\.]+)\)\s*=\s*([A-Za-z_][A-Za-z0-9_]*)\(")
MSPROBE_SCOPE = re.compile(r"scope.*?:\s*\((.{1,200}?)\)")
MSPROBE_NPY = re.compile(r"^([^.]+)\.([^.]+)\.([^.]+)\.([^.]+)\.(\d+(?:\.\d+)*)\.((?:in|out)put(?:\.\d+)*)\.([^.]+)\.([^.]+)\.npy$")


def graph_files(dump, kind="ir"):
    found = {int(path.stem.rpartition("_")[2]): path
             for path in (dump.path / "graphs").glob(f"ms_output_trace_code_graph_*.{kind}")}
    return dict(sorted(found.items()))


def order_files(dump, kind="ms_execution_order_graph_"):
    found = {int(path.stem.rpartition("_")[2]): path for path in (dump.path / "execution_order").glob(f"{kind}*.csv")}
    return dict(sorted(found.items()))


def order(path):
    lines = path.read_text().splitlines()
    assert lines[0] == "NodeExecutionOrder-FullNameWithScope"
    return lines[1:]


class Node:
    def __init__(self, lines):
        self.lines = lines
        match = re.match(r"  %(\d+)\((\w+)\) = (\w+)\((.*?)\)(?: primitive_attrs.*)?$", lines[0])
        assert match, lines[0]
        self.number, self.op = int(match[1]), match[3]
        self.operands = match[4].split(", ") if match[4] else []
        self.name = next(FULL_NAME.match(line)[1] for line in lines if FULL_NAME.match(line))
        self.types = TYPES.match(lines[1])
        self.source = next((line for line in reversed(lines) if line.startswith("      # In file ")), None)  # the innermost


def nodes(path):
    """{full name: Node} of an .ir file."""
    blocks, block = [], None
    for line in path.read_text().splitlines():
        if NODE.match(line):
            block = [line]
            blocks.append(block)
        elif block is not None and line.startswith("      "):
            block.append(line)
        else:
            block = None
    found = [Node(block) for block in blocks]
    assert [node.number for node in found] == list(range(len(found)))
    return {node.name: node for node in found}


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    from conftest import Runner

    return Runner(tmp_path_factory.mktemp("graphs")).run(NET, mode="cpu", saved_data="tensor")


def test_every_name_of_the_order_is_in_the_ir(dump):
    assert list(graph_files(dump)) == list(graph_files(dump, "pb")) == list(order_files(dump)) == [0, 1]
    for graph, path in graph_files(dump).items():
        assert order(order_files(dump)[graph]) == list(nodes(path)), "all of them, in this order"


def test_every_dumped_operator_is_in_the_graph_of_its_step(dump):
    for step, directory in dump.step_directories().items():
        names = {sanitise(name) for name in nodes(graph_files(dump)[int(directory.parent.name)])}
        dumped = {name for name, slot in dump.files(step) if not dump.files(step)[name, slot].name.startswith("Parameter.")}
        assert dumped and dumped <= names, step


def test_types_of_operands(dump):
    for path in graph_files(dump).values():
        for node in nodes(path).values():
            assert node.types, node.lines
            count = node.types[1].count("<")
            if node.op in ("addmm", "mm", "relu", "add_"):
                assert count == len(node.operands), node.lines
    addmm = nodes(graph_files(dump)[1])["Default/fc2-Linear/addmm-op0"]
    assert "<Tensor[Float32], (2, 4)>" in addmm.types[1] and "<Tensor[Float32], (2, 2)>" in addmm.types[2]


def test_edges_follow_the_tensors(dump):
    graph = nodes(graph_files(dump)[1])
    relu = graph["Default/relu-ReLU/relu-op0"]
    assert relu.operands == [f"%{graph['Default/fc1-Linear/addmm-op0'].number}"]
    addmm = graph["Default/fc2-Linear/addmm-op0"]
    assert addmm.operands[1] == f"%{relu.number}"
    # The transposed weight is a view: its operator lies between.
    transpose = graph["Default/fc2-Linear/t-op0"]
    assert addmm.operands[2] == f"%{transpose.number}"
    assert re.fullmatch(r"%para\d+_fc2\.weight", transpose.operands[0])
    # Backward reads what forward made, and the optimizer what backward made.
    gradient = graph["Gradients/Default/relu-ReLU/threshold_backward-op0"]
    assert f"%{relu.number}" in gradient.operands
    updates = [node for node in graph.values() if node.name.startswith("Default/optimizer-SGD/add_")]
    assert len(updates) == 4
    makers = {int(node.operands[1][1:]) for node in updates}
    assert makers <= {node.number for node in graph.values() if node.name.startswith("Gradients/")}


def test_parameters(dump):
    text = graph_files(dump)[1].read_text()
    weights = re.findall(r"^(%para\d+_(\S+)): (<.*>)  :  has_default  :  (<.*>)  :  IsWeight: true$", text, re.M)
    assert {name for _, name, _, _ in weights} >= {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}
    for _, name, otype, _ in weights:
        assert otype.startswith("<Ref[Tensor[Float32]], (") and otype.endswith(f", ref_key={name}>")
    assert f"# Total params: {len(re.findall(r'^%para', text, re.M))}\n" in text
    assert re.search(r"^# IR entry: @kernel_graph1$", text, re.M)


def test_source_lines(dump):
    program = (dump.path.parent.parent / "program.py").read_text().splitlines()
    graph = nodes(graph_files(dump)[1])
    for name, marker in [("Default/relu-ReLU/relu-op0", "self.relu(self.fc1(x))"), ("Default/fc2-Linear/addmm-op0", "self.fc2(y)"),
                         ("Gradients/Default/fc2-Linear/mm-op0", "self.fc2(y)"), ("Default/optimizer-SGD/add_-op0", "optimizer.step()")]:
        source = re.fullmatch(r"      # In file (.*):(\d+), (\d+)~(\d+)/(.*)/", graph[name].source)
        assert source and source[1].endswith("program.py"), name
        line = program[int(source[2]) - 1]
        assert marker in line and source[5] == line
        assert line[int(source[3]):int(source[4])] == line.strip()


def test_msprobe_maps_every_tensor_file_to_code(dump):
    scopes = {}
    for path in graph_files(dump).values():
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            if match := MSPROBE_SCOPE.search(line):
                assert len(line) <= 300
                code = []
                for following in lines[number + 1:]:
                    if not following.strip().startswith("#"):
                        break
                    code.append(following)
                scopes.setdefault(match[1].replace("/", "_"), []).extend(code)
        assert len(MSPROBE_NODE.findall("\n".join(lines))) == len(nodes(path))
        assert re.findall(r"# IR entry: @(\S+)", lines[0])
    for (name, slot), path in dump.files(1).items():
        assert MSPROBE_NPY.match(path.name), path.name
        if not path.name.startswith("Parameter."):
            assert any(scope in path.name for scope in scopes), path.name


def test_history(dump):
    history = {graph: path.read_text() for graph, path in
               order_files(dump, "ms_global_execution_order_graph_").items()}
    assert history == {0: "0\n", 1: "1\n2\n3\n"}, "a list of steps for each graph"
    for path in order_files(dump, "ms_global_execution_order_graph_").values():
        assert all(int(row[0]) >= 0 for row in csv.reader(path.open()))


def test_names_that_a_loader_looks_for(dump):
    """MindInsight takes directories with numbers for graphs and steps, and needs .dump_metadata."""
    assert (dump.path / ".dump_metadata").is_dir()
    for graph in (dump.path / "net").iterdir():
        assert graph.name.isdigit()
        assert all(step.name.isdigit() or step.name == "constants" for step in graph.iterdir())


def test_opdump_reads_the_graph_of_its_own_dump(dump):
    done = subprocess.run([OPDUMP, "ls", dump.path.parent, "--step", "1"], capture_output=True, text=True)
    assert done.returncode == 0 and "relu-op0" in done.stdout, done.stderr


def test_control_flow_that_takes_another_path_is_another_graph(opdump):
    dump = opdump.run("""
        import opdump, torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(2, 2)
            def forward(self, x, step):
                if step % 2:
                    x = torch.tanh(x)
                return self.fc(x)

        net = Net()
        x = torch.ones(1, 2)
        opdump.step()
        for step in range(4):
            net(x, step)
            opdump.step()
    """, iteration="1-4", saved_data="full", mode="gpu")
    assert dump.steps() == [1, 2, 3, 4]
    graphs = {step: int(path.parent.name) for step, path in dump.step_directories().items()}
    assert graphs == {1: 0, 2: 1, 3: 0, 4: 1}
    assert list(graph_files(dump)) == list(order_files(dump)) == [0, 1]
    assert "Default/tanh-op0" in order(order_files(dump)[1]) and "Default/tanh-op0" not in order(order_files(dump)[0])
    for step in dump.steps():
        has_tanh = any("tanh" in name for name, _ in dump.files(step))
        assert has_tanh == (graphs[step] == 1)
        assert len(dump.rows(step)) == len(dump.files(step))
    assert order_files(dump, "ms_global_execution_order_graph_")[1].read_text() == "2\n4\n"
    entries = {(int(p.parent.parent.name), int(p.parent.name)) for p in dump.path.glob("net/*/[0-9]*/statistic.csv")}
    assert entries == {(graph, step) for step, graph in graphs.items()}


def test_an_operator_that_writes_in_place_and_a_view(opdump):
    dump = opdump.run("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Identity()
            def forward(self, x):
                y = x.exp()
                y.mul_(3)
                z = y.view(-1).detach()
                torch._foreach_add_([z], 1.0)
                return z.neg()

        Net()(torch.ones(2, 2))
    """)
    (path,) = graph_files(dump).values()
    graph = nodes(path)
    assert graph["Default/mul_-op0"].operands[0] == f"%{graph['Default/exp-op0'].number}"
    assert graph["Default/view-op0"].operands[0] == f"%{graph['Default/mul_-op0'].number}"
    assert graph["Default/neg-op0"].operands[0] == f"%{graph['Default/_foreach_add_-op0'].number}", "not what it was before"


def test_graphs_are_those_of_selected_steps(opdump):
    dump = opdump.run(NET, iteration="2", mode="o0")
    assert list(graph_files(dump)) == list(order_files(dump)) == [0]
    assert "Gradients/Default/fc1-Linear/mm-op0" in order(order_files(dump)[0])
    assert not order_files(dump, "ms_global_"), "not on Ascend"


def test_operators_that_are_not_dumped_are_in_the_graph(opdump):
    dump = opdump.run(NET, iteration="1", dump_mode=1, kernels=["relu"])
    (path,) = graph_files(dump).values()
    assert "Default/fc1-Linear/addmm-op0" in nodes(path)
    assert {name for name, _ in dump.files(1)} == {"Default_relu-ReLU_relu-op0"}
