"""Options of TorchAir and of TensorFlow's adapter: defaults, checks at assignment, messages, what they turn into."""

import os

import pytest

from opdump import npu_device, torchair
from opdump.npu_device import _ge
from opdump.npu_device._estimator import to_options
from opdump.npu_device._options import GlobalOptions
from opdump.torchair._run import acl_config


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return torchair.CompilerConfig()


# ------------------------------------------------------------------ TorchAir


def test_torchair_defaults(config):
    values = {name: option.value for name, option in vars(config.dump_config).items()}
    assert values == {"enable_dump": "0", "dump_path": "./", "dump_mode": "all", "quant_dumpable": "0", "dump_step": "",
                      "dump_layer": "", "dump_data": "tensor", "dump_config_path": None, "data_dump_stage": "optimized"}
    assert not config.dump_config.enable_dump and config.dump_config.dump_mode


@pytest.mark.parametrize("name, value, error, text", [
    ("enable_dump", "True", ValueError, r"Value 'True' \(type: <class 'str'>\) not in optional list \[False, True\] "
                                        r"\(type: <class 'bool'>\)\."),
    ("enable_dump", None, ValueError, "not in optional list"),
    ("quant_dumpable", 2, ValueError, "Value '2'"),
    ("dump_mode", "ALL", ValueError, r"not in optional list \['input', 'output', 'all'\]"),
    ("dump_data", "csv", ValueError, r"\['tensor', 'stats'\]"),
    ("data_dump_stage", "", ValueError, r"\['original', 'optimized'\]"),
    ("dump_path", "missing", FileNotFoundError, "Please set legal dir path, missing is not found or is not a file directory!"),
    ("dump_path", None, FileNotFoundError, "Please set legal dir path, None is not"),
    ("dump_step", "0 | 5", ValueError, "0 | 5 is Illegal format, correct example:0|1|2-5|6."),
    ("dump_step", None, TypeError, "expected string"),
    ("dump_step", 3, TypeError, "expected string"),
    ("dump_layer", "Add:op1", ValueError, "Add:op1 is Illegal format, correct example:Mul_1 Add1 Conv2D_1."),
    ("dump_layer", "a,b", ValueError, "Illegal format"),
    ("dump_layer", "a\tb", ValueError, "Illegal format"),
    ("dump_layer", 3, TypeError, "expected string"),
    ("dump_config_path", "", ValueError, "File path cannot be empty!"),
    ("dump_config_path", "none.json", FileNotFoundError, "none.json is not found or is not '.json' file!"),
    ("dump_config_path", "text.txt", FileNotFoundError, "is not '.json' file!"),
    ("dump_config_path", 3, TypeError, "expected a string"),
    ("dump_steps", "0", ValueError, r"has no option dump_steps, all options \['enable_dump', "),
])
def test_torchair_checks_at_assignment(config, name, value, error, text):
    open("text.txt", "w").close()
    with pytest.raises(error) as caught:
        setattr(config.dump_config, name, value)
    assert type(caught.value) is error
    caught.match(text.replace("|", r"\|") if "Illegal" in text else text)
    message = str(caught.value)
    assert "Traceback" in message and "ERR03005 GRAPH internal error" in message.splitlines()[-1]


def test_torchair_accepts(config):
    dump = config.dump_config
    dump.enable_dump = 1  # in [False, True], and kept as it is
    assert dump.enable_dump.value == "1" and dump.enable_dump
    dump.enable_dump = True
    assert dump.enable_dump.value == "1"
    dump.dump_step, dump.dump_layer = "0|1|2-5|6", 'Add_1Mul_1 Add2 a/b.c\\d "x" a-b'
    assert dump.dump_step.value == "0|1|2-5|6"
    dump.dump_step = ""
    assert not dump.dump_step
    open("config.json", "w").close()
    dump.dump_config_path = "config.json"
    assert dump.dump_config_path.value == "config.json"
    dump.dump_config_path = None
    assert dump.dump_config_path.value is None
    os.mkdir("here")
    dump.dump_path = "here"
    assert dump.dump_path.value == "here"  # the caller's spelling
    dump.dump_mode.value = "input"
    assert dump.dump_mode.value == "input"


def test_torchair_sections(config):
    with pytest.raises(ValueError, match="CompilerConfig has no option dumpconfig"):
        config.dumpconfig = 1
    with pytest.raises(TypeError, match="dump_config has options of its own"):
        config.dump_config = True
    other = torchair.CompilerConfig()
    other.dump_config.dump_mode = "input"
    config.dump_config = other.dump_config
    assert config.dump_config.dump_mode.value == "input"
    config.experimental_config.frozen_parameter = True  # of no consequence here
    config.experimental_config.aoe_config.work_path = "x"
    config.debug.graph_dump.type = "py"
    with pytest.raises(ValueError, match="not in optional list"):
        config.mode = "fastest"


def test_torchair_as_dict(config, tmp_path):
    assert config.as_dict() == ({}, {})
    dump = config.dump_config
    dump.enable_dump = dump.quant_dumpable = True
    dump.dump_mode, dump.dump_data = "output", "stats"
    path = str(tmp_path / "worldsize1_global_rank0")
    assert not os.path.exists(path), "not at assignment"
    assert config.as_dict() == ({}, {
        "ge.exec.enableDump": "1", "ge.exec.dumpPath": path, "ge.exec.dumpMode": "output", "ge.quant_dumpable": "1",
        "ge.exec.dumpData": "stats"})
    assert os.path.isdir(path)
    dump.dump_step, dump.dump_layer = "0|2", "a  b "
    options = config.as_dict()[1]
    assert (options["ge.exec.dumpStep"], options["ge.exec.dumpLayer"]) == ("0|2", "a  b ")
    assert acl_config(options) == {"dump": {
        "dump_path": path, "dump_mode": "output", "dump_data": "stats", "dump_step": "0|2",
        "dump_list": [{"model_name": "graph_1", "layer": ["a", "b"]}]}}
    config.mode = "reduce-overhead"
    with pytest.warns(UserWarning, match="dump_mode, quant_dumpable, dump_step, dump_layer, dump_data of dump_config have no"):
        options = config.as_dict()[1]
    assert options == {"aclgraph.enableDump": "1", "aclgraph.dumpPath": path, "aclgraph.dumpStage": "optimized"}


def test_torchair_config_path_whatever_enable_dump_says(config):
    open("acl.json", "w").close()
    config.dump_config.dump_config_path = "acl.json"
    assert config.as_dict() == ({}, {"ge_dump_with_acl_config": "acl.json"})
    assert not os.path.exists("worldsize1_global_rank0")


def test_backends():
    with pytest.raises(TypeError, match="expected a CompilerConfig"):
        torchair.get_npu_backend(compiler_config={})
    assert torchair.get_npu_backend().config.dump_config.dump_mode.value == "all"


# ------------------------------------------------------------------ TensorFlow 2


def test_npu_defaults():
    options = GlobalOptions()
    assert options.as_dict() == {
        "ge.exec.enableDump": "0", "ge.exec.dumpMode": "output", "ge.exec.enableDumpDebug": "0", "ge.exec.dumpDebugMode": "all",
        "ge.exec.dumpData": "tensor"}
    assert options.dump_config.dump_path.value is None and options.enable_exception_dump.value == "2"
    assert npu_device.global_options() is npu_device.global_options()


@pytest.mark.parametrize("name, value, error, text", [
    ("enable_dump", "1", TypeError, "Expected <class 'bool'>, got <class 'str'>"),
    ("enable_dump", 2, TypeError, "Expected <class 'bool'>, got <class 'int'>"),
    ("dump_mode", "ALL", ValueError, r"'ALL' not in optional list \['input', 'output', 'all'\]"),
    ("dump_mode", None, TypeError, "Expected <class 'str'>, got <class 'NoneType'>"),
    ("dump_debug_mode", "aicore", ValueError, r"\['aicore_overflow', 'atomic_overflow', 'all'\]"),
    ("dump_data", "csv", ValueError, r"\['tensor', 'stats'\]"),
    ("dump_steps", "0", ValueError, r"has no option dump_steps, all options \['enable_dump', 'dump_path', "),
])
def test_npu_checks_at_assignment(name, value, error, text):
    with pytest.raises(error, match=text) as caught:
        setattr(GlobalOptions().dump_config, name, value)
    assert type(caught.value) is error


def test_npu_accepts():
    options = GlobalOptions()
    options.dump_config.enable_dump = 1
    options.dump_config.dump_path = 3  # what has no list is not checked
    options.dump_config.dump_step = ["x"]
    options.dump_config.dump_layer = "a-b c:d"
    options.enable_exception_dump, options.quant_dumpable = 1, "1"
    options.op_debug_level = 2
    options.experimental.logical_device_deploy_mode = "LOAD_BALANCE"
    found = options.as_dict()
    assert found["ge.exec.enableDump"] == "1" and found["ge.exec.dumpPath"] == "3" and found["ge.exec.dumpStep"] == "['x']"
    assert found["ge.exec.dumpLayer"] == "a-b c:d" and found["ge.quant_dumpable"] == "1"
    with pytest.raises(ValueError, match="'3' not in optional list"):
        options.enable_exception_dump = 3


@pytest.mark.parametrize("options, text", [
    ({"ge.exec.enableDump": "1", "ge.exec.enableDumpDebug": "1"}, "E10001: .*cannot be enabled at the same time"),
    ({"ge.exec.enableDump": "True"}, r"E10001: Value \[True\] for parameter \[ge.exec.enableDump\] is invalid"),
    ({"ge.exec.enableDump": "1"}, "E10058: .*ge.exec.dumpPath. is required"),
    ({"ge.exec.enableDump": "1", "ge.exec.dumpPath": "/missing/directory"}, "E10001: .*not a directory"),
    ({"ge.exec.enableDump": "1", "ge.exec.dumpPath": "/tmp", "ge.exec.dumpStep": "0|"}, "E10001: .*dumpStep.*0|5|10|50-100"),
    ({"ge.exec.enableDump": "1", "ge.exec.dumpPath": "/tmp", "ge.exec.dumpMode": "x"}, "E10001: .*input, output, all"),
    ({"ge.exec.enableDumpDebug": "1", "ge.exec.dumpPath": "/tmp", "ge.exec.dumpDebugMode": "x"}, "E10001: .*aicore_overflow"),
])
def test_graph_engine_refuses(options, text):
    with pytest.raises(ValueError, match=text):
        _ge.check(options)


def test_what_options_turn_into(tmp_path):
    path = str(tmp_path)
    assert _ge.acl_config({}) is None
    dump = {"ge.exec.enableDump": "1", "ge.exec.dumpPath": path}
    assert _ge.acl_config(dump) == {"dump": {"dump_path": path, "dump_mode": "output", "dump_data": "tensor", "dump_list": [{}]}}
    assert _ge.acl_config(dump | {"ge.exec.dumpLayer": " a\tb\n", "ge.exec.dumpStep": "1", "ge.exec.dumpMode": "all"}) == {
        "dump": {"dump_path": path, "dump_mode": "all", "dump_data": "tensor", "dump_step": "1",
                 "dump_list": [{"layer": ["a", "b"]}]}}
    assert _ge.acl_config({"ge.exec.enableDumpDebug": "1", "ge.exec.dumpPath": path}) == {
        "dump": {"dump_path": path, "dump_debug": "on"}}
    scenes = {level: _ge.acl_config({_ge.EXCEPTION: level}) for level in "012"}
    assert scenes["0"] is None and scenes["1"]["dump"]["dump_scene"] == "aic_err_norm_dump"
    assert scenes["2"]["dump"]["dump_scene"] == "aic_err_brief_dump"


# ------------------------------------------------------------------ TensorFlow 1


def run(**settings):
    return to_options(npu_device.NPURunConfig(dump_config=npu_device.DumpConfig(**settings)).as_parameters())


def test_estimator_types():
    with pytest.raises(ValueError, match="must be provided with type `DumpConfig`"):
        npu_device.NPURunConfig(dump_config={"enable_dump": True})
    options = to_options(npu_device.NPURunConfig(iterations_per_loop=10, quant_dumpable="1").as_parameters())
    assert options["ge.exec.enableDump"] == "0" and options["ge.quant_dumpable"] == "1"


@pytest.mark.parametrize("settings, error, text", [
    (dict(enable_dump=True), npu_device.InternalError, "if use dump function, dump_path must be set."),
    (dict(enable_dump_debug=True, dump_path="/missing"), npu_device.InternalError, "the path /missing is not directory."),
    (dict(enable_dump=True, dump_path="/missing", dump_mode="x"), npu_device.InternalError, "is not directory"),  # path first
    (dict(enable_dump=True, dump_path="/tmp", dump_step="5-3", dump_mode="x"), npu_device.InternalError,
     "in range steps, the first step is >= second step, correct example:'0|5|10-20'"),  # then the step
    (dict(enable_dump=True, dump_path="/tmp", dump_step="a"), npu_device.InternalError,
     "dump_step string style is error, correct example:'0|5|10|50-100'"),
    (dict(enable_dump=True, dump_path="/tmp", dump_step="|".join("0" * 101)), npu_device.InternalError,
     "dump_step only support dump <= 100 sets of data"),
    (dict(enable_dump=True, dump_path="/tmp", dump_mode="x"), npu_device.FatalError,
     "dump mode should be one of the list:[input, output, all]"),
    (dict(enable_dump_debug=True, dump_path="/tmp", dump_debug_mode="x"), npu_device.FatalError,
     "dump debug mode should be one of the list:[aicore_overflow, atomic_overflow, all]"),
    (dict(dump_data="x"), npu_device.InternalError, "dump_data should be 'tensor' or 'stats'."),  # whatever the switches
])
def test_estimator_checks(settings, error, text):
    with pytest.raises(error) as caught:
        run(**settings)
    assert type(caught.value) is error and text in str(caught.value)


def test_estimator_accepts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(dump_step="a", dump_mode="x")["ge.exec.enableDump"] == "0"  # nobody looks at them
    assert run(enable_dump=True, dump_path=".")["ge.exec.dumpPath"] == str(tmp_path)  # the real path
    lenient = run(enable_dump=True, dump_path=".", dump_step="0|")
    with pytest.raises(ValueError, match="E10001"):  # by the adapter, not by the engine
        _ge.check(lenient)
    both = run(enable_dump=True, enable_dump_debug=True, dump_path=".")
    with pytest.raises(ValueError, match="at the same time"):
        _ge.check(both)
    assert "ge.exec.dumpDebugMode" not in run(enable_dump_debug=True, dump_path=".", dump_mode=None, dump_debug_mode="x")


def test_session_style(tmp_path):
    custom_op = npu_device.NpuOptimizer()
    custom_op.parameter_map["enable_dump"].b = True
    custom_op.parameter_map["dump_path"].s = str(tmp_path).encode()
    custom_op.parameter_map["dump_step"].s = b"0|5"
    custom_op.parameter_map["dump_mode"].s = "all"
    custom_op.parameter_map["use_off_line"].b = True
    assert to_options(custom_op.as_parameters()) == {
        "ge.exec.enableDump": "1", "ge.exec.enableDumpDebug": "0", "ge.exec.dumpPath": str(tmp_path), "ge.exec.dumpStep": "0|5",
        "ge.exec.dumpMode": "all"}
