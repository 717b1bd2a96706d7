"""Memory that torch takes away, hands on or never fills: what is in the dump is what the operator saw, or nothing."""

import numpy as np
import pytest

# Each storage gets other memory while the recorder may still be reading the old.
EXCHANGES = """
    import numpy as np, torch, torch.multiprocessing as mp

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)])
        def forward(self, x):
            return self.layers(x)

    torch.manual_seed(0)
    net, x = Net(), torch.randn(512, 512)
    queue = mp.get_context("spawn").SimpleQueue()
    net(x)
    net.share_memory()
    for strategy in ("file_descriptor", "file_system"):
        mp.set_sharing_strategy(strategy)
        for _ in range(6):
            fresh = torch.full((400, 400), 2.0)
            negative = fresh.neg()
            fresh.share_memory_()
            negative.share_memory_()
            del fresh, negative
    for i in range(4):
        a = torch.full((700, 700), 3.0)
        b = a.sin()
        a.storage().resize_(0)                    # as FSDP does
        b.storage().resize_(0)
        overwritten = torch.full((700, 700), 9.0)  # where they lay, as like as not
        a.storage().resize_(700 * 700)
        a.fill_(5.0)
        a.cos()
        c = torch.full((700, 700), 4.0)
        c.tan()
        c.set_(torch.zeros(2).storage())
        c = torch.full((700, 700), 4.0)
        c.tan()
        c.resize_(900, 900)
    sent = torch.full((300, 300), 6.0)
    sent.exp()
    queue.put(sent)
    received = queue.get()
    received.exp()
    print("done")
"""


@pytest.mark.parametrize("settings", [
    {"e2e": False, "file_format": "bin", "saved_data": "tensor", "mode": "o2"},
    {"saved_data": "tensor"},
    {"saved_data": "full"},
], ids=["bin", "tensor", "full"])
def test_storages_that_get_other_memory(opdump, settings):
    dump = opdump.run(EXCHANGES, **settings)
    assert dump.out == "done\n"
    assert dump.status["state"] == "complete"
    if "mode" in settings:
        return
    for i in range(12):
        assert (dump.tensor(f"Default/neg-op{i}", "input.0") == 2).all()
        assert (dump.tensor(f"Default/neg-op{i}", "output.0") == -2).all()
    for i in range(4):
        assert (dump.tensor(f"Default/sin-op{i}", "input.0") == 3).all()
        np.testing.assert_allclose(dump.tensor(f"Default/sin-op{i}", "output.0"), np.sin(np.float32(3)), rtol=1e-6)
        assert (dump.tensor(f"Default/cos-op{i}", "input.0") == 5).all(), "other memory is another content"
    for i in range(8):
        assert (dump.tensor(f"Default/tan-op{i}", "input.0") == 4).all()
    assert all((dump.tensor(f"Default/exp-op{i}", "input.0") == 6).all() for i in range(2))


def test_a_tensor_of_unknown_kind_is_listed(opdump):
    program = """
        import torch
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        encoder = torch.nn.TransformerEncoder(layer, 2).eval()
        mask = torch.zeros(2, 5, dtype=torch.bool)
        mask[1, 3:] = True
        with torch.no_grad():
            print(encoder(torch.randn(2, 5, 16), src_key_padding_mask=mask).sum().item().hex())
        nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
        print([t.shape for t in (nested * 2).unbind()])
        print(torch.eye(3).to_sparse_csr().values().sum(), torch.randn(2, 3).to_mkldnn().relu().to_dense().shape)
    """
    plain = opdump.plain(program)
    assert plain.returncode == 0, plain.stderr
    dump = opdump.run(program)
    assert dump.out == plain.stdout
    reasons = {reason for name in dump.operators for reason in dump.undumped(name).values()}
    assert "nested" in reasons, reasons
    assert dump.status["state"] == "complete"


def test_a_parameter_file_is_the_end_of_the_step(opdump):
    dump = opdump.run("""
        import numpy as np, torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.exported, self.shared, self.plain = (torch.nn.Linear(100, 100) for _ in range(3))
                self.foreign = torch.nn.Parameter(torch.from_numpy(np.ones((100, 100), np.float32)))
            def forward(self, x):
                return self.plain(self.shared(self.exported(x))) @ self.foreign
        torch.manual_seed(0)
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for step in range(3):
            optimizer.zero_grad()
            loss = net(torch.randn(10, 100)).square().sum()
            if step == 0:
                first = net.exported.weight.detach().numpy().sum()
                net.shared.share_memory()
            loss.backward()
            optimizer.step()
            np.savez(f"state{step}.npz", **{k: v.clone().numpy() for k, v in net.state_dict().items()})
    """, mode="gpu", saved_data="tensor")
    for step in range(3):
        state = np.load(opdump.directory / f"state{step}.npz")
        for name in state:
            np.testing.assert_array_equal(np.load(dump.files(step)[name.replace(".", "_"), "output.0"]), state[name], err_msg=name)


# What no kernel writes is whatever lay there before: glibc fills fresh memory with a byte that differs from run to run.
UNWRITTEN = """
    import copy, io, torch
    torch.manual_seed(0)
    log_probs = torch.randn(12, 3, 5).log_softmax(2).detach().requires_grad_()
    targets = torch.randint(1, 5, (3, 4))
    torch.nn.functional.ctc_loss(log_probs, targets, torch.tensor([12, 9, 7]), torch.tensor([4, 2, 3])).backward()
    net = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    quantised = torch.quantization.quantize_dynamic(net, {torch.nn.Linear}, dtype=torch.qint8)
    quantised(torch.randn(3, 6))
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    loaded = torch.load(file)
    file.seek(0)
    torch.save(net.state_dict(), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    again = torch.load(file)
    net.load_state_dict(again)
    net(torch.randn(3, 6))
    torch.nn.functional.embedding_bag(torch.tensor([1, 2, 4, 5]), torch.randn(10, 3), torch.tensor([0, 2]), mode="sum")
    torch.nn.functional.embedding_bag(torch.tensor([1, 2, 4, 5]), torch.randn(10, 3), torch.tensor([0, 2]), mode="max")
    torch.nn.LSTM(3, 4)(torch.randn(2, 1, 3))
    torch.nn.functional.logsigmoid(torch.randn(5))
    torch.randn(4, 4).unique(return_inverse=True)
    torch.linalg.lstsq(torch.randn(4, 3), torch.randn(4, 2))
    copy.deepcopy(torch.randn(40))  # into the memory of a new storage
    resized = torch.randn(50)
    resized.storage().resize_(0)
    resized.storage().resize_(50)
    resized.fill_(1)
    rows = torch.empty(3, 4)
    rows[0].normal_()
    rows[1] = torch.randn(4)
    rows[2].fill_(1)
    print("done")
"""


def test_what_nobody_wrote_is_without_data(opdump):
    runs = [opdump.run(UNWRITTEN, saved_data="tensor", env={"MALLOC_PERTURB_": str(byte)}) for byte in (85, 170)]
    differing = set()
    for key, path in runs[0].files().items():
        if path.read_bytes() != runs[1].files()[key].read_bytes():
            differing.add(key)
    assert not differing
    name = next(n for n in runs[0].operators if "/_ctc_loss" in n)
    assert runs[0].undumped(name)["output.1"] == "uninitialised"


def test_a_new_storage_that_the_program_fills(opdump):
    dump = opdump.run("""
        import torch
        filled = torch.UntypedStorage(4)
        for i in range(4): filled[i] = i
        torch.tensor([], dtype=torch.uint8).set_(filled) + 1
    """, saved_data="tensor")
    assert dump.tensor("Default/add-op0", "input.0").tolist() == [0, 1, 2, 3]


def test_what_is_known_of_tensors_leaves_no_holes_in_the_memory_of_the_program(opdump):
    """Small pieces that outlive the tensors around them keep the room of these from being used again."""
    dump = opdump.run("""
        import os
        import torch

        layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
        model = torch.nn.TransformerEncoder(layer, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
        x = torch.randn(8, 32, 128)
        pages = []
        for step in range(45):
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
            pages.append(int(open("/proc/self/statm").read().split()[1]))
        print((pages[-1] - pages[14]) * os.sysconf("SC_PAGE_SIZE") >> 20)
        """, saved_data="statistic", env={"OMP_NUM_THREADS": "1"})
    assert int(dump.out) < 32  # MiB
