"""opdump.dump, start and stop in a program."""

import json


def test_a_part_of_a_program(program):
    config = program.config()
    done = program.run("""
        import opdump, torch
        torch.ones(1).sin()
        with opdump.dump("data_dump.json") as recording:
            assert recording.complete is None
            for _ in range(2):
                torch.ones(1).cos()
                opdump.step()
        torch.ones(1).tan()
        dump = recording.open()
        print(recording.complete, recording.path, dump.steps, sorted({op.type for op in dump}))
    """)
    assert done.stdout == f"True {config.parent}/dump [0, 1] ['cos', 'ones']\n"
    assert "opdump: dumped" in done.stderr


def test_a_dict_is_a_configuration(program):
    config = json.loads(program.config().read_text())
    done = program.run(f"""
        import opdump, os, tempfile, torch
        with opdump.dump({config!r}) as recording:
            torch.ones(1).cos()
        print(len(recording.open()), [f for f in os.listdir(tempfile.gettempdir()) if f.startswith("opdump-")])
    """, env={"TMPDIR": str(program.directory)})
    assert done.stdout == "2 []\n"


def test_mistakes(program):
    program.config(input_output=9)
    done = program.run("""
        import opdump, torch
        try:
            with opdump.dump("data_dump.json"):
                print("not reached")
        except opdump.ConfigError as error:
            print(isinstance(error, ValueError), error)
        try:
            with opdump.dump("missing.json"):
                print("not reached")
        except opdump.ConfigError as error:
            print(error)
        assert not opdump.active()
    """)
    first, second = done.stdout.splitlines()
    assert first.startswith("True ") and "data_dump.json:1:" in first and "input_output" in first
    assert "missing.json" in second


def test_one_recording_at_a_time(program):
    program.config()
    done = program.run("""
        import opdump, torch
        recording = opdump.dump("data_dump.json")
        try:
            recording.open()
        except RuntimeError as error:
            print(error)
        with recording:
            try:
                opdump.start("data_dump.json")
            except RuntimeError as error:
                print(error)
            torch.ones(1).cos()
        try:
            with recording:
                pass
        except RuntimeError as error:
            print(error)
        print(len(recording.open()))
    """)
    assert done.stdout.splitlines() == ["the recording has not ended", "a recording is in progress: stop it first",
                                        "a recording is used once: call opdump.record() or opdump.dump() again", "2"]


def test_an_exception_leaves_the_block(program):
    program.config()
    done = program.run("""
        import opdump, torch
        try:
            with opdump.dump("data_dump.json") as recording:
                torch.ones(1).cos()
                raise KeyError("mine")
        except KeyError as error:
            print(error, recording.complete, opdump.active())
    """)
    assert done.stdout == "'mine' True False\n"


def test_mindspore_by_one_changed_import(program):
    config = program.config(dump_mode=2)
    done = program.run("""
        import torch
        from opdump import mindspore as ms
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
        ms.set_dump(net[1])
        net(torch.ones(1, 3))
    """, env={"MINDSPORE_DUMP_CONFIG": str(config)})
    names = {path.name.split(".")[1] for path in (config.parent / "dump").rglob("*.npy")}
    assert names == {"Default_1-Linear_addmm-op0"}, done.stderr
