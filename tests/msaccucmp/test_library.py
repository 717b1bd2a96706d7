"""The modules that msprobe, msit and MindSpore import from msaccucmp's folder."""
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest


LIBRARY = pathlib.Path(__file__).resolve().parents[2] / "python/operator_cmp/compare"


@pytest.fixture
def dump(tmp_path):
    subprocess.run([sys.executable, "-B", pathlib.Path(__file__).parent / "make_dump.py", tmp_path / "dump"], check=True)
    return tmp_path / "dump"


def run(text, directory, expect=0):
    """Runs a program that finds the library as it finds CANN's."""
    program = f"import sys\nsys.path.append({str(LIBRARY)!r})\n" + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", program], cwd=directory, capture_output=True, text=True, check=False,
                          env={**os.environ, "OPDUMP": os.environ["OPDUMP_BIN"]})
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout


def test_tensors_of_a_file(dump):
    """As msprobe reads what TorchAir dumped."""
    run("""
        import numpy as np
        from dump_parse.dump_utils import parse_dump_file
        from cmp_utils.constant.const_manager import ConstManager
        from conversion import tensor_conversion
        read = parse_dump_file("Conv2D.conv1.3.5.1700000000000001", dump_version=ConstManager.OLD_DUMP_TYPE)
        (given,), (made,) = read.input_data, read.output_data
        assert (made.tensor_format, made.data_type, made.shape, made.data.dtype) == ("NC1HWC0", "float16", [1, 1, 2, 2, 16], np.float16)
        assert np.array_equal(made.data.ravel(), np.arange(64))
        assert np.frombuffer(made.data, dtype="uint8").size == 128  # as msit reads them
        convert = tensor_conversion.ConvertSingleTensorFormat()
        plain = np.arange(64).reshape(2, 2, 16).transpose(2, 0, 1)
        assert np.array_equal(convert(made)[0], plain[:8]) and np.array_equal(convert(given)[0], plain[:3])
        (added,) = parse_dump_file("Add.add1.4.5.1700000000000003", 2.0).output_data
        assert convert(added).tolist() == [[0, 1, 2], [3, 4, 65504]]
    """, dump)


def test_what_is_no_dump(dump):
    (dump / "other").write_text("text")
    run("""
        from dump_parse.dump_utils import parse_dump_file
        from cmp_utils.constant.compare_error import CompareError
        try:
            parse_dump_file("other")
        except CompareError as error:
            assert error.code == CompareError.MSACCUCMP_INVALID_DUMP_DATA_ERROR and "other is no dump file" in error.message
        else:
            raise SystemExit("no error")
    """, dump)


def test_conversion_as_mindspore_does_it(dump, tmp_path):
    """The steps of mindspore.offline_debug.convert_async, which shares files among processes of its own."""
    run("""
        import collections, multiprocessing, os
        from importlib import import_module
        parser, converter = import_module("dump_data_parser").DumpDataParser, import_module("shape_conversion").FormatConversionMain
        progress, log = import_module("progress").Progress, import_module("log")
        ok = import_module("compare_error").CompareError.MSACCUCMP_NONE_ERROR
        import_module("utils"), import_module("common")
        fields = dict(dump_version="2.0", format="NCHW", output_file_type="msnpy", dump_path="../npy", output_path="../npy",
                      file_list=[os.path.realpath("Conv2D.conv1.3.5.1700000000000001")], input=None, output=None, shape=None,
                      custom_script_path=None)
        os.makedirs("../npy")
        arguments = collections.namedtuple("args_parser", list(fields))(**fields)
        convert = converter(arguments)
        convert.check_arguments_valid()
        convert.multi_process._progress = progress(1)
        assert convert.multi_process.get_max_file_size() > os.path.getsize(fields["file_list"][0])
        log.print_info_log("Start to convert async dump files.")
        with multiprocessing.get_context("fork").Pool(1) as pool:
            task = pool.apply_async(convert.convert_format_for_one_file, args=(fields["file_list"][0],),
                                    callback=convert.multi_process._handle_result_callback)
            assert task.get()[0] == ok
    """, dump)
    (made,) = (tmp_path / "npy").glob("Conv2D.conv1.*.output.0.*.npy")
    assert np.load(made).shape == (1, 8, 2, 2)
