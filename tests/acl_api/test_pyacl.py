"""pyACL: the usual sample as it is, and every function with the results that pyACL's documentation says."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPDUMP = os.environ["OPDUMP_BIN"]
PACKAGES = pathlib.Path(OPDUMP).parents[1] / "python"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    directory = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, ROOT / "examples/onnx/export_models.py", directory, "digits", "batch", "image", "dynamic"], check=True,
                   capture_output=True)
    return directory


def run(tmp_path, *command, status=0, **environment):
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=300,
                          env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | environment)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_the_sample_is_dumped(tmp_path, models):
    (tmp_path / "output").mkdir()
    (tmp_path / "acl.json").write_text(json.dumps({"dump": {"dump_path": "output", "dump_list": [{"model_name": "digits"}]}}))
    np.load(models / "digits/data.npy").tofile(tmp_path / "image.bin")
    done = run(tmp_path, OPDUMP, "run", "--compat", "acl", "--", sys.executable, ROOT / "examples/pyacl_resnet50/main.py", "acl.json",
               models / "digits.onnx", "image.bin")
    (gemm,) = tmp_path.glob("output/2*/0/digits/1/0/Gemm.*")
    run(tmp_path, OPDUMP, "msaccucmp", "convert", "-d", gemm, "-out", "npy")
    (scores,) = map(np.load, (tmp_path / "npy").glob("*.output.0.npy"))
    best = [f"  top {i + 1}: class {c}, score {scores[0][c]:.4f}" for i, c in enumerate(np.argsort(-scores[0])[:5])]
    assert done.stdout.splitlines() == ["image.bin", *best] and "nothing was dumped" not in done.stderr


def test_without_compat_it_is_advised(tmp_path):
    done = run(tmp_path, OPDUMP, "run", "-o", "out", "--", sys.executable, "-c", "import acl", status=1)
    assert "acl is not installed; `opdump run --compat acl` provides it" in done.stderr


def script(tmp_path, models, text):
    return run(tmp_path, sys.executable, "-c", "from opdump import acl\nimport numpy as np, os, pathlib, sys\n"
               f"models = pathlib.Path({str(models)!r})\n" + text, PYTHONPATH=str(PACKAGES))


def test_runtime(tmp_path, models):
    script(tmp_path, models, """
assert acl.init() == 0 and acl.init() == 100002 and "aclInit" in acl.get_recent_err_msg()
assert acl.rt.get_version() == (1, 0, 0, 0) and acl.rt.get_run_mode() == (1, 0) and acl.get_soc_name() == "CPU"
assert acl.rt.set_device(3) == 0 and acl.rt.get_device() == (3, 0) and acl.rt.get_device_count()[1] == 0
context, ret = acl.rt.create_context(1)
assert ret == 0 and acl.rt.get_context() == (context, 0) and acl.rt.set_context(context) == 0
stream, ret = acl.rt.create_stream()
assert ret == 0 and acl.rt.synchronize_stream(stream) == 0 and acl.rt.stream_query(stream) == (0, 0)
free, total, ret = acl.rt.get_mem_info(1)
assert 0 < free <= total and ret == 0
events = [acl.rt.create_event()[0] for _ in range(2)]
assert acl.rt.query_event_status(events[0]) == (0, 0)
assert [acl.rt.record_event(event, stream) for event in events] == [0, 0]
ms, ret = acl.rt.event_elapsed_time(*events)
assert ms >= 0 and ret == 0 and acl.rt.query_event_status(events[0]) == (1, 0)
array = np.arange(6, dtype="f4").reshape(2, 3)
memory, ret = acl.rt.malloc(24, 0)
assert acl.rt.memcpy(memory, 24, acl.util.numpy_to_ptr(array), 24, 1) == 0
assert acl.rt.memcpy(memory, 20, acl.util.numpy_to_ptr(array), 24, 1) == 100000
assert acl.util.ptr_to_bytes(memory, 24) == array.tobytes()
view = acl.util.ptr_to_numpy(memory, (2, 3), 11)
assert np.array_equal(view, array) and view.dtype == np.float32
assert acl.rt.memset(memory, 24, 0, 24) == 0 and not view.any()
for data in (array.tobytes(), bytearray(array.tobytes())):
    assert acl.rt.memcpy(memory, 24, acl.util.bytes_to_ptr(data), 24, 1) == 0 and np.array_equal(view, array)
assert acl.util.ptr_to_bytes(acl.util.numpy_contiguous_to_ptr(array.T), 24) == array.T.tobytes()
assert acl.rt.free(memory) == 0 and acl.rt.malloc(0, 0) == (0, 100000)
assert acl.rt.destroy_stream(stream) == acl.rt.destroy_context(context) == acl.rt.reset_device(3) == 0
assert acl.finalize() == 0 and acl.finalize() == 100037
""")


def test_models(tmp_path, models):
    script(tmp_path, models, """
acl.init("")
path = str(models / "digits.onnx")
work, weights, ret = acl.mdl.query_size(path)
assert work > 0 and weights > 0 and ret == 0
assert acl.mdl.load_from_file("missing.onnx") == (0, 100014)
handle = acl.mdl.create_config_handle()
assert acl.mdl.set_config_opt(handle, 0, 1) == acl.mdl.set_config_opt(handle, 1, 1) == acl.mdl.set_config_opt(handle, 2, path) == 0
number, ret = acl.mdl.load_with_config(handle)
assert ret == 0 and acl.mdl.destroy_config_handle(handle) == 0 and acl.mdl.unload(number) == 0
data = pathlib.Path(path).read_bytes()
number, ret = acl.mdl.load_from_mem(acl.util.bytes_to_ptr(data), len(data))
assert ret == 0 and acl.mdl.unload(number) == 0
number, ret = acl.mdl.load_from_file_with_mem(path, 0, 0, 0, 0)
desc = acl.mdl.create_desc()
assert ret == 0 and acl.mdl.get_desc(desc, number) == 0
assert acl.mdl.get_num_inputs(desc) == acl.mdl.get_num_outputs(desc) == 1
assert acl.mdl.get_input_dims(desc, 0) == ({"name": "data", "dimCount": 4, "dims": [4, 1, 8, 8]}, 0)
assert acl.mdl.get_output_dims(desc, 0)[0]["dims"] == [4, 10] and acl.mdl.get_output_dims(desc, 1)[1] == 100000
assert acl.mdl.get_input_name_by_index(desc, 0) == "data" and acl.mdl.get_input_index_by_name(desc, "data") == (0, 0)
assert acl.mdl.get_input_data_type(desc, 0) == 0 and acl.mdl.get_input_format(desc, 0) == 0 and acl.mdl.get_output_format(desc, 0) == 2
assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 0, "batch": []}, 0)
acl.finalize()
""")


def test_open_dimensions(tmp_path, models):
    text = """
acl.init()
number, ret = acl.mdl.load_from_file(str(models / "NAME.onnx"))
desc, data, out = acl.mdl.create_desc(), acl.mdl.create_dataset(), acl.mdl.create_dataset()
assert ret == acl.mdl.get_desc(desc, number) == 0
size = acl.mdl.get_input_size_by_index(desc, 0)
memory, _ = acl.rt.malloc(size, 0)
results, _ = acl.rt.malloc(4096, 0)
assert acl.mdl.add_dataset_buffer(data, acl.create_data_buffer(memory, size)) == (data, 0)
acl.mdl.add_dataset_buffer(out, acl.create_data_buffer(results, 4096))
index, ret = acl.mdl.get_input_index_by_name(desc, "ascend_mbatch_shape_data")
assert ret == 0
"""
    script(tmp_path, models, 'os.environ["OPDUMP_DYNAMIC_BATCH_SIZE"] = "1,4"\n' + text.replace("NAME", "batch") + """
assert acl.mdl.get_dynamic_batch(desc) == ({"batchCount": 2, "batch": [1, 4]}, 0) and size == 4 * 18 * 4
assert acl.mdl.set_dynamic_batch_size(number, data, index, 1) == 0
assert acl.mdl.set_dynamic_batch_size(number, data, index, 3) == 145013 and acl.mdl.execute(number, data, out) == 0
assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [1, 2, 3, 3], "what was refused changes nothing"
assert acl.mdl.set_dynamic_batch_size(number, data, index, 4) == 0 and acl.mdl.execute(number, data, out) == 0
assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [4, 2, 3, 3]
assert acl.get_tensor_desc_dim_v2(acl.mdl.get_dataset_tensor_desc(out, 0), 0) == (4, 0)
""")
    script(tmp_path, models, 'os.environ["OPDUMP_DYNAMIC_IMAGE_SIZE"] = "2,2;3,4"\n' + text.replace("NAME", "image") + """
assert acl.mdl.get_dynamic_hw(desc, index) == ({"hwCount": 2, "hw": [[2, 2], [3, 4]]}, 0)
assert acl.mdl.set_dynamic_hw_size(number, data, index, 3, 4) == 0 and acl.mdl.execute(number, data, out) == 0
assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [1, 2, 3, 4]
""")
    script(tmp_path, models, 'os.environ["OPDUMP_DYNAMIC_DIMS"] = "2,3;4,5"\n' + text.replace("NAME", "dynamic") + """
assert acl.mdl.get_input_dynamic_gear_count(desc, -1) == (2, 0)
dims, ret = acl.mdl.get_input_dynamic_dims(desc, -1, 2)
assert [one["dims"] for one in dims] == [[2, 3], [4, 5]] and ret == 0
acl.rt.memset(memory, size, 0x3f, size)
assert acl.mdl.set_input_dynamic_dims(number, data, index, dims[0]) == 0 and acl.mdl.execute(number, data, out) == 0
assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [6, 2]
shape = acl.create_tensor_desc(0, [4, 5], 2)
assert acl.mdl.set_dataset_tensor_desc(data, shape, 0) == (data, 0) and acl.mdl.execute(number, data, out) == 0
assert acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"] == [20, 2]
""")


def test_dumping_and_operators(tmp_path, models):
    (tmp_path / "output").mkdir()
    (tmp_path / "set.json").write_text(json.dumps({"dump": {"dump_path": "output", "dump_list": [], "dump_op_switch": "on", "dump_mode": "all"}}))
    script(tmp_path, models, """
acl.init()
assert acl.mdl.init_dump() == 0 and acl.mdl.set_dump("missing.json") == 100003 and acl.mdl.set_dump("set.json") == 0
x, y = np.array([1, 4], "f4"), np.zeros(2, "f4")
desc = acl.create_tensor_desc(0, [2], 2)
assert acl.get_tensor_desc_size(desc) == 8 and acl.get_tensor_desc_num_dims(desc) == 1
a, b = (acl.create_data_buffer(acl.util.numpy_to_ptr(array), 8) for array in (x, y))
assert acl.op.execute_v2("Sqrt", [desc], [a], [desc], [b], 0, 0) == 0 and y.tolist() == [1, 2]
attr = acl.op.create_attr()
assert acl.op.set_attr_float(attr, "negative_slope", 0.5) == acl.op.set_attr_list_int(attr, "unused", []) == 0
x[0] = -1
handle, ret = acl.op.create_handle("Neg", [desc], [desc], 0)
assert ret == 0 and acl.op.execute_with_handle(handle, [a], [b], 0) == 0 and y.tolist() == [1, -4]
acl.op.destroy_handle(handle)
acl.op.destroy_attr(attr)
assert acl.op.compile_and_execute("Abs", [desc], [a], [desc], [b], 0, 0, 0, "", 0) == 0 and y.tolist() == [1, 4]
assert acl.op.execute_v2("NoSuchOperator", [desc], [a], [desc], [b], 0, 0) == 100024
assert acl.mdl.finalize_dump() == 0 and acl.finalize() == 0
""")
    assert {path.name.split(".")[0] for path in tmp_path.glob("output/2*/0/*")} == {"Sqrt", "Neg", "Abs"}
