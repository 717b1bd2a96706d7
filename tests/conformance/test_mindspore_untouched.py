"""In every mode a training computes what it computes without: losses, weights and random state are the same bits."""

import pytest

TRAIN = """
    import hashlib
    import torch
    from torch import nn

    torch.manual_seed(7)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 8, 3)
            self.norm = nn.BatchNorm2d(8)
            self.drop = nn.Dropout(0.3)
            self.fc = nn.Linear(8 * 36, 10)
        def forward(self, x):
            x = self.drop(torch.relu_(self.norm(self.conv(x))))
            return self.fc(x.flatten(1))

    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, foreach=True)
    for step in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.randn(16, 1, 8, 8)), torch.randint(10, (16,)))
        loss.backward()
        optimizer.step()
        print(loss.item().hex())
        half = (torch.randn(64).half() * 60000).square()     # overflows
        try:
            torch.ones(2, 3).mm(half.float()[None])          # throws
        except RuntimeError as error:
            print(error)
    weights = b"".join(p.detach().numpy().tobytes() for p in net.state_dict().values())
    print(hashlib.md5(weights).hexdigest(), hashlib.md5(torch.get_rng_state().numpy().tobytes()).hexdigest())
"""

MODES = {
    "o0": {"mode": "o0", "e2e": {"enable": True, "save_kernel_args": True}},
    "o0 asynchronous, sampled": {"e2e": {"enable": False, "sample_mode": 1, "sample_num": 3}},
    "statistics": {"saved_data": "statistic", "statistic_category": ["max", "md5", "nan count", "l2norm"]},
    "cpu": {"mode": "cpu"},
    "gpu": {"mode": "gpu", "e2e": {"enable": True, "trans_flag": False}},
    "o2": {"e2e": False, "file_format": "npy"},
    "o2 bin": {"e2e": False, "file_format": "bin", "saved_data": "tensor"},
    "ge": {"mode": "ge", "e2e": False, "file_format": "npy", "iteration": "1"},
    "overflow": {"op_debug_mode": 3},
    "overflow bin": {"op_debug_mode": 3, "e2e": False, "file_format": "bin", "saved_data": "tensor"},
    "exception": {"op_debug_mode": 4},
    "set_dump": {"dump_mode": 2},
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    from conftest import Runner

    done = Runner(tmp_path_factory.mktemp("plain")).plain(TRAIN)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("settings", MODES.values(), ids=MODES)
def test_the_program_computes_the_same(opdump, plain, settings):
    dump = opdump.run(TRAIN, **settings)
    assert dump.out == plain
    assert dump.status["losses"] == []


def test_little_memory(opdump, plain):
    """A limit that a single call exceeds: slower, not stuck and not wrong."""
    for settings in ({"op_debug_mode": 3}, MODES["o2 bin"], {}):
        dump = opdump.run(TRAIN, env={"OPDUMP_MEMORY_LIMIT": "64K"}, **settings)
        assert dump.out == plain and dump.status["losses"] == []
