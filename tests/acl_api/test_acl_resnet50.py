"""The example examples/acl_resnet50, compiled against the headers and linked with -lascendcl only, on ResNet-50 with random weights."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPDUMP = os.environ["OPDUMP_BIN"]
LIBRARIES = os.environ["OPDUMP_LIBRARIES"]


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    """A directory with the program, the model and an image."""
    directory = tmp_path_factory.mktemp("acl")
    subprocess.run([os.environ["CXX_BIN"], "-std=c++17", "-Wall", "-Wextra", "-Werror", ROOT / "examples/acl_resnet50/main.cc",
                    "-I", ROOT / "adapters/acl/include", f"-L{LIBRARIES}", "-lascendcl", f"-Wl,-rpath,{LIBRARIES}",
                    f"-Wl,-rpath-link,{LIBRARIES}", "-o", directory / "acl_resnet50"], check=True)
    subprocess.run([sys.executable, ROOT / "examples/onnx/export_models.py", directory, "resnet50"], check=True, capture_output=True)
    np.load(directory / "resnet50/data.npy").tofile(directory / "image.bin")
    (directory / "none.json").write_text("{}")
    return directory


def run(work, *args, status=0, **environment):
    done = subprocess.run([work / "acl_resnet50", *args], cwd=work, text=True, capture_output=True, timeout=300,
                          env=os.environ | environment)
    assert done.returncode == status, done.stderr
    return done


def best(work):
    """The five best classes, from the model's outputs as `opdump run` writes them."""
    scores = np.load(work / "out/resnet50/0/scores.npy")[0]
    return [f"  top {i + 1}: class {c}, score {scores[c]:.4f}" for i, c in enumerate(np.argsort(-scores)[:5])]


def test_classifies_as_the_runtime_does(work):
    said = run(work, "none.json", "resnet50.onnx", "image.bin", "image.bin").stdout.splitlines()
    config = work / "data_dump.json"
    config.write_text('{"common_dump_settings": {"dump_mode": 1, "path": "%s/other", "net_name": "n", "kernels": ["/fc/Gemm"]},'
                      '"e2e_dump_settings": {"enable": true}}' % work)
    subprocess.run([OPDUMP, "run", "--config", config, "resnet50.onnx", "--input", "data=resnet50/data.npy", "--output-dir", "out"],
                   cwd=work, check=True, capture_output=True)
    assert said == ["image.bin", *best(work), "image.bin", *best(work)]


def test_an_offline_model_gives_way_to_the_onnx_file_beside_it(work):
    (work / "resnet50.om").write_bytes(b"IMOD" + bytes(100))
    done = run(work, "none.json", "resnet50.om", "image.bin")
    assert "opdump: runs resnet50.onnx in place of resnet50.om" in done.stderr and "top 1" in done.stdout
    (work / "alone.om").write_bytes(b"IMOD" + bytes(100))
    done = run(work, "none.json", "alone.om", "image.bin", status=1)
    assert "error 100013: alone.om is an offline model, made for one kind of processor" in done.stderr


def test_wrong_images(work):
    (work / "short.bin").write_bytes(bytes(100))
    assert "the image has 100 bytes, the model takes 602112" in run(work, "none.json", "resnet50.onnx", "short.bin", status=1).stderr
