"""`import opdump` is cheap: what it imports is counted, because a clock would measure the machine."""


def test_nothing_heavy_is_imported(program):
    done = program.run("""
        import sys
        before = set(sys.modules)
        import opdump
        print(*sorted(set(sys.modules) - before))
    """)
    imported = done.stdout.split()
    assert {"opdump", "opdump._on_import"} <= set(imported)
    assert len(imported) <= 8, imported
    assert not {"torch", "numpy", "pandas", "opdump._core", "opdump._torch"} & set(imported)


def test_reading_imports_no_torch(program):
    done = program.run("""
        import sys
        import numpy, opdump
        numpy.save("a.add.Default_add-op0.0.0.1700000000000000.output.0.DefaultFormat.float32.npy", numpy.ones(2, "f4"))
        try:
            opdump.open("nothing")
        except FileNotFoundError:
            pass
        print("torch" in sys.modules, "pandas" in sys.modules)
    """)
    assert done.stdout == "False False\n"


def test_recorder_and_reader_in_one_process(program):
    config = program.config()
    done = program.run(f"""
        import opdump
        opdump.open                               # loads the reading half first
        import torch
        for _ in range(2):
            with opdump.dump({str(config)!r}, existing="replace") as recording:
                torch.ones(2, 3).relu()
            dump = recording.open()
            print(recording.complete, dump["relu-op0"]["output.0"].numpy().sum())
    """)
    assert done.stdout == "True 6.0\n" * 2


def test_every_public_name_is_there(program):
    done = program.run("""
        import opdump
        for name in opdump.__all__:
            assert getattr(opdump, name).__doc__, name
        assert set(opdump.__all__) <= set(dir(opdump))
        try:
            opdump.nonsense
        except AttributeError as error:
            print(error)
    """)
    assert done.stdout == "module 'opdump' has no attribute 'nonsense'\n"


def test_version():
    import opdump
    import opdump._core

    assert opdump.__version__ == opdump._core.version and opdump.__version__[0].isdigit()


def test_output_that_nobody_reads(program):
    """As of `opdump ls dump | head -1`: no message, and the program that is recorded finds the signal as it would without opdump."""
    done = program.run("""
        import os, subprocess, sys
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([sys.executable, "-m", "opdump", "rules"], stdout=writer, stderr=subprocess.PIPE, text=True)
        print(done.returncode, repr(done.stderr))
        shell = [sys.executable, "-m", "opdump", "run", "-o", "dump", "--", "grep", "SigIgn", "/proc/self/status"]
        print(int(subprocess.run(shell, capture_output=True, text=True, check=True).stdout.split()[1], 16) >> 12 & 1)
    """)
    assert done.stdout == "0 ''\n0\n"
