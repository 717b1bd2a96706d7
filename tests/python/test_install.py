"""`pip install .` without a network, into an empty directory, of the build that is tested."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_pip_install(tmp_path):
    target = tmp_path / "packages"
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    environment["OPDUMP_BUILD_DIR"] = str(pathlib.Path(os.environ["OPDUMP_BIN"]).parent.parent)
    run(sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-index", "--no-deps", "--target", target, ".",
        cwd=ROOT, env=environment)
    assert (target / "opdump/py.typed").is_file() and (target / "opdump/_core.pyi").is_file()
    assert "Build" not in run(target / "opdump/bin/opdump", "--help", env=environment)
    if (pathlib.Path(environment["OPDUMP_BUILD_DIR"]) / "lib/libopdump_mpi.so").exists():
        assert (target / "opdump/lib/libopdump_mpi.so").exists(), "what mpirun opdump wants"
    path = environment | {"PATH": f"{target / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(target)}
    assert "convert" in run(sys.executable, target / "bin/msaccucmp.py", "--help", env=path)
    for library in (target / "opdump").rglob("*.so*"):
        for path in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", run("readelf", "-d", library)):
            assert all(part.startswith("$ORIGIN") or part.endswith("/torch/lib") for part in path.split(":")), (library, path)
    (tmp_path / "config.json").write_text(
        '{"common_dump_settings": {"dump_mode": 0, "path": "%s/dump", "net_name": "net"}, "e2e_dump_settings": {"enable": true}}'
        % tmp_path)
    (tmp_path / "program.py").write_text("import torch\nprint(torch.ones(3).cos().shape)\n")
    environment["PYTHONPATH"] = str(target)
    run(target / "bin/opdump", "run", "--config", tmp_path / "config.json", "--", sys.executable, tmp_path / "program.py",
        env=environment)
    (tmp_path / "read.py").write_text("import opdump, sys\nprint(opdump.__file__, [op.type for op in opdump.open(sys.argv[1])])\n")
    said = run(sys.executable, tmp_path / "read.py", tmp_path / "dump", env=environment)
    assert said == f"{target}/opdump/__init__.py ['ones', 'cos']\n"
    # Operators run again in the Python of the package, whatever is called python3.
    (tmp_path / "python3").symlink_to("/bin/false")
    elsewhere = {name: value for name, value in environment.items() if name != "OPDUMP_PYTHON"} | {"PATH": str(tmp_path)}
    said = run(target / "bin/opdump", "reproduce", tmp_path / "dump", "Default/cos-op0", "-o", tmp_path / "script.py", env=elsewhere)
    assert (tmp_path / "script.py").is_file(), said


def test_a_source_archive_has_what_the_build_needs(tmp_path):
    # A list of files that an earlier build left in the source would complete this one.
    run(sys.executable, "setup.py", "-q", "egg_info", "--egg-base", tmp_path, "sdist", "--dist-dir", tmp_path, cwd=ROOT)
    archive, = tmp_path.glob("opdump-*.tar.gz")
    run("tar", "-xzf", archive, "-C", tmp_path)
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    run("cmake", "-S", source, "-B", tmp_path / "build", "-DOPDUMP_DEVELOPER=OFF", "-DOPDUMP_PACKAGE=ON", f"-DOPDUMP_PYTHON={sys.executable}")
    assert (source / "web/package-lock.json").is_file() and os.access(source / "setup.sh", os.X_OK)


def test_an_editable_installation(tmp_path):
    """What is edited in the sources is what runs, in programs that are recorded, too."""
    source, target = tmp_path / "source", tmp_path / "packages"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "CMakeLists.txt", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "python", source / "python", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so", "bin", "lib", "adapters"))
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
    environment["OPDUMP_BUILD_DIR"] = str(pathlib.Path(os.environ["OPDUMP_BIN"]).parent.parent)
    for _ in range(2):  # after each change of what is compiled
        run(sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-index", "--no-deps", "--upgrade", "--target", target,
            "--editable", ".", cwd=source, env=environment)
    place, = target.glob("*.pth")
    assert place.read_text().strip() == str(source / "python")
    with open(source / "python/opdump/_torch/attach.py", "a", encoding="utf-8") as file:
        file.write("\nprint('what is edited')\n")
    environment["PYTHONPATH"] = place.read_text().strip()  # what a .pth in site-packages does
    (tmp_path / "program.py").write_text("import torch\nprint(torch.ones(3).cos().shape)\n")
    said = run(sys.executable, "-m", "opdump", "run", "-o", tmp_path / "dump", "--", sys.executable, tmp_path / "program.py", env=environment)
    assert sorted(said.splitlines()) == ["torch.Size([3])", "what is edited"], said
    said = run(sys.executable, "-c", "import opdump, sys; print([op.type for op in opdump.open(sys.argv[1])])", tmp_path / "dump", env=environment)
    assert said == "['ones', 'cos']\n"
