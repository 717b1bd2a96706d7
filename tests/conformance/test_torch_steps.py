"""Where steps begin and end, what is none, and what of one recording reaches the next: nothing."""

import subprocess

import pytest

from conftest import OPDUMP, Dump, Runner

# Each function is recorded into a folder of its own.
PROGRAM = """
    import itertools, os, sys
    import opdump, torch
    from torch import nn
    from torch.nn import functional as F

    def settings(name):
        return {"common_dump_settings": {"dump_mode": 0, "path": os.path.abspath(name), "net_name": "net", "iteration": "all",
                                         "saved_data": "tensor", "input_output": 0, "kernels": [], "support_device": [0]},
                "e2e_dump_settings": {"enable": True}}

    def Net():
        return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))

    def train(count):
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(count):
            optimizer.zero_grad()
            loss = F.mse_loss(model(torch.randn(5, 3)), torch.zeros(5, 2))
            loss.backward()
            optimizer.step()
        loss.item()

    def two(): train(2)
    def two_again(): train(2)
    def three(): train(3)

    def by_hand():                       # no optimizer; the target is made after the call of the model
        model = Net()
        for _ in range(3):
            loss = F.mse_loss(model(torch.randn(5, 3)), torch.zeros(5, 2))
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None

    def inference():
        model = Net()
        with torch.no_grad():
            for _ in range(3):
                model(torch.rand(5, 3)).argmax(1)

    def loader():
        model = Net()
        batches = torch.utils.data.DataLoader([torch.full((3,), float(i)) for i in range(6)], batch_size=2)
        for x in batches:
            model(x)

    def warmed_up():
        model = Net()
        model(torch.ones(5, 3))
        for _ in range(3):
            model(torch.rand(5, 3))

    def linear():
        layer = nn.Linear(3, 2)
        for _ in range(3):
            layer(torch.rand(5, 3))

    class Plain(nn.Module):
        def forward(self, x):
            return x.sin()

    def plain():
        module = Plain()
        for _ in range(3):
            module(torch.rand(5))

    def two_modules():                   # each is called once in a round
        encoder, decoder, activation = nn.Linear(3, 4), nn.Linear(4, 2), nn.ReLU()
        for _ in range(3):
            activation(decoder(activation(encoder(torch.rand(5, 3)))))

    def functional():
        weight = torch.ones(3, requires_grad=True)
        for _ in range(3):
            (torch.rand(5, 3) * weight).sum().backward()
            with torch.no_grad():
                weight -= weight.grad
                weight.grad = None

    def unused_optimizer():
        model = Net()
        torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            model(torch.rand(5, 3)).sum().backward()

    def accumulation():
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            for _ in range(3):
                model(torch.rand(5, 3)).sum().backward()
            optimizer.step()

    def gan():
        generator, critic = Net(), nn.Sequential(nn.Linear(2, 1))
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (generator, critic)]
        for _ in range(2):
            (critic(torch.rand(5, 2)) - critic(generator(torch.rand(5, 3)).detach())).sum().backward()
            optimizers[1].step()
            critic(generator(torch.rand(5, 3))).sum().backward()
            optimizers[0].step()

    def evaluated_first():
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch.no_grad():
            for _ in range(2):
                model(torch.ones(5, 3)).erf()
        for _ in range(2):
            model(torch.rand(5, 3)).sum().backward()
            optimizer.step()

    def closure():                       # calls the model inside of Optimizer.step
        model = Net()
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
        def again():
            optimizer.zero_grad()
            loss = model(torch.ones(5, 3)).square().sum()
            loss.backward()
            return loss
        for _ in range(2):
            optimizer.step(again)

    def raising():
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for number in itertools.count():
            loss = model(torch.randn(5, 3)).sum()
            if number == 2:
                raise KeyError("the data ends")
            loss.backward()
            optimizer.step()

    def scripted():
        model = torch.jit.script(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
        for _ in range(3):
            model(torch.rand(5, 3))

    for function in (two, two_again, three, by_hand, inference, loader, warmed_up, linear, plain, two_modules, functional,
                     unused_optimizer, accumulation, gan, evaluated_first, closure, raising, scripted):
        torch.manual_seed(0)
        try:
            with opdump.dump(settings(function.__name__)) as recording:
                function()
        except KeyError:
            assert function is raising
        assert recording.complete, function

    opdump_settings = "started.json"
    for name in ("started", "started_again"):
        with open(opdump_settings, "w") as file:
            import json
            json.dump(settings(name), file)
        torch.manual_seed(0)
        opdump.start(opdump_settings)
        train(2)
        by_hand()
        assert opdump.stop()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    runner = Runner(tmp_path_factory.mktemp("steps"))
    done = runner.plain(PROGRAM, env={"PYTHONPATH": str(runner.package)})
    assert done.returncode == 0, done.stderr
    return lambda name: Dump(runner.directory / name / "rank_0")


def types(dump, step):
    """How often each type of operator ran in a step."""
    counts = {}
    for name in {name for name, _ in dump.files(step)}:
        kind = dump.by_file[name]["type"]
        counts[kind] = counts.get(kind, 0) + 1
    return counts


@pytest.fixture(autouse=True)
def _by_file(monkeypatch):
    from conftest import sanitise

    monkeypatch.setattr(Dump, "by_file", property(lambda dump: {sanitise(n): o for n, o in dump.operators.items()}), raising=False)


def last_and_tail(dump):
    assert dump.status["first_step"] == 0 and dump.status["state"] == "complete" and dump.status["losses"] == []
    return dump.status["last_step"], dump.status["tail_step"]


def compare(golden, actual, *options):
    return subprocess.run([OPDUMP, "compare", golden.path.parent, actual.path.parent, *options], capture_output=True, text=True)


def test_what_follows_the_last_step_is_none(recorded):
    assert last_and_tail(recorded("two")) == (1, 2)
    assert types(recorded("two"), 2) == {"_local_scalar_dense": 1}
    listed = subprocess.run([OPDUMP, "ls", recorded("two").path.parent], capture_output=True, text=True)
    assert "the operators of step 2 ran after the last step" in listed.stdout


def test_common_steps_are_compared_and_the_rest_is_named(recorded):
    done = compare(recorded("two"), recorded("three"))
    assert "first bad" not in done.stdout and "no difference found" in done.stdout, done.stdout
    assert "step 2 is only in actual: left out" in done.stdout
    assert "the last 1 operator after the last step is only in golden" in done.stdout
    assert done.returncode == 3


def test_tails_of_equal_runs_are_compared(recorded):
    done = compare(recorded("two"), recorded("two_again"))
    assert done.returncode == 0 and ": left out" not in done.stdout, done.stdout


def test_a_loop_without_an_optimizer(recorded):
    dump = recorded("by_hand")
    assert last_and_tail(dump) == (2, -1)
    for step in (1, 2):
        made = types(dump, step)
        assert made["randn"] == 1 and made["mse_loss"] == 1 and made["sub_"] == 4, (step, made)
    assert types(dump, 0)["sub_"] == 4


@pytest.mark.parametrize("name, once", [
    ("inference", ["rand", "argmax"]), ("loader", ["stack"]), ("linear", ["rand", "addmm"]), ("plain", ["rand", "sin"]),
    ("two_modules", ["rand"]), ("functional", ["rand", "sub_"]), ("unused_optimizer", ["rand"]), ("scripted", ["rand"]),
])
def test_a_round_of_the_loop_is_a_step(recorded, name, once):
    dump = recorded(name)
    # A loader whose data is at an end is asked once more, which runs an operator of torch's own until torch 2.
    assert last_and_tail(dump) in ([(2, 3), (2, -1)] if name == "loader" else [(2, -1)])
    for step in range(3):
        assert {kind: types(dump, step).get(kind) for kind in once} == dict.fromkeys(once, 1), types(dump, step)


def test_a_call_before_the_loop(recorded):
    dump = recorded("warmed_up")
    assert last_and_tail(dump) == (3, -1)
    assert [types(dump, step).get("rand") for step in (2, 3)] == [1, 1]


def test_calls_whose_gradients_add_up_are_one_step(recorded):
    dump = recorded("accumulation")
    assert last_and_tail(dump) == (1, -1)
    assert [types(dump, step)["rand"] for step in range(2)] == [3, 3]


def test_two_optimizers(recorded):
    dump = recorded("gan")
    assert last_and_tail(dump) == (3, -1)
    assert [types(dump, step)["rand"] for step in range(4)] == [2, 1, 2, 1]


def test_evaluation_before_training(recorded):
    dump = recorded("evaluated_first")
    assert last_and_tail(dump) == (3, -1)
    assert [types(dump, step).get("erf") for step in range(4)] == [1, 1, None, None]


def test_calls_inside_of_an_optimizer(recorded):
    assert last_and_tail(recorded("closure")) == (1, -1)


def test_an_exception_cuts_a_step_short(recorded):
    dump = recorded("raising")
    assert dump.status["cut_step"] == 2 and dump.status["tail_step"] == -1
    done = compare(recorded("raising"), recorded("raising"))
    assert done.returncode == 3 and "golden rank 0: the program was interrupted in step 2" in done.stdout, done.stdout


def test_a_program_that_ends_with_an_exception(opdump):
    text = """
        import torch
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for number in range(3):
            loss = model(torch.ones(5, 3)).sum()
            if number == 2 and FAILS:
                raise KeyboardInterrupt
            loss.backward()
            optimizer.step()
    """
    whole = opdump.run(text.replace("FAILS", "False"))
    assert whole.status["cut_step"] == -1
    process, where = opdump.start(text.replace("FAILS", "True"))
    process.communicate(timeout=240)
    assert process.returncode == -2 or process.returncode == 130
    cut = Dump(where)
    assert cut.status["cut_step"] == 2
    done = compare(whole, cut)
    assert done.returncode == 3 and "first bad" not in done.stdout, done.stdout
    assert "actual rank 0: the program was interrupted in step 2" in done.stdout


def test_recordings_of_one_process_are_the_same(recorded):
    for first, second in (("two", "two_again"), ("started", "started_again")):
        first, second = recorded(first), recorded(second)
        assert list(first.operators) == list(second.operators)
        assert first.steps() == second.steps()
        graphs = [sorted(str(path.relative_to(dump.path)) for path in dump.path.glob("net/*/*")) for dump in (first, second)]
        assert graphs[0] == graphs[1]
        assert [set(first.files(step)) for step in first.steps()] == [set(second.files(step)) for step in second.steps()]
        done = compare(first, second)
        assert done.returncode == 0 and "no difference:" in done.stdout, done.stdout


def test_scripted_modules_have_names_and_lose_nothing(recorded):
    assert recorded("scripted").status["losses"] == [] and recorded("scripted").status["warnings"] == []


def test_no_failure_of_a_hook_reaches_the_program(opdump):
    """Every hook of Python fails here, and the import of what records, too."""
    dump = opdump.run("""
        import torch, opdump._torch.names as names
        def fail(*args, **kwargs):
            raise AttributeError("a hook fails")
        names._name_weights = names._input_names = fail
        class Unhashable(torch.optim.SGD):
            __hash__ = None
        model = torch.nn.Sequential(torch.nn.Linear(3, 2))
        optimizer = Unhashable(model.parameters(), lr=0.1)
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
        print("done")
    """)
    assert dump.out == "done\n" and "Traceback" not in dump.err
    assert dump.status["state"] == "incomplete"
    assert {loss["what"] for loss in dump.status["losses"]} == {"names of inputs and weights", "the state of an optimizer"}
    broken = opdump.directory / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text("import sys; sys.modules['opdump._torch.attach'] = None\n")
    done = opdump.run("import torch; print(torch.ones(1).item())", env={"PYTHONPATH": str(broken)})
    assert done.out == "1.0\n" and "nothing is recorded: import of opdump._torch.attach" in done.err
