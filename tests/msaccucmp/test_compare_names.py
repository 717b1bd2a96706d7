"""Names of files in the two directories of `opdump msaccucmp compare`. Needs no reference data."""
import numpy as np
import pytest

from test_compare_rules import X, compare, dump, golden, graph, operator, rows_in


def network(folder):
    return (dump(folder / "my", Relu__r=([], [X])), golden(folder / "gold", r=X),
            graph(folder / "model.json", operator("r", "Relu", 1, [], ["r"], "r")))


def test_any_array_in_a_directory_costs_its_addresses(tmp_path):
    """Whatever it is called; only what belongs to an operator decides about the column of overflows."""
    mine, right, rules = network(tmp_path)
    np.save(mine / "Relu.r.1.2.1700000000000000.output.0.npy", X)
    done = compare("-m", mine, "-g", right, "-f", rules, "-overflow_detection", "-out", tmp_path)
    assert done.returncode == 0 and "is invalid, only supports op_name.output_index.timestamp.npy" not in done.stdout
    assert rows_in(tmp_path)[0][:9] == ["Index", "OpType", "NPUDump", "DataType", "GroundTruth", "DataType", "TensorIndex", "Shape",
                                        "OverFlow"]


@pytest.mark.parametrize("end", ["\n", "", "\r\n"])
def test_names_in_a_mapping(end, tmp_path):
    mine, right, rules = network(tmp_path)
    (mine / "Relu.r.1.2.1700000000000000").rename(mine / "12345")
    (mine / "678").write_bytes(b"")
    (mine / "mapping.csv").write_text(f"678,Relu{end or chr(10)}a,b,c{end or chr(10)}12345,Relu.r.1.2.1700000000000000{end}")
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (f'The file name "Relu" in the file "{mine}/mapping.csv" is invalid. It only supports '
            "op_type.op_name.task_id(.stream_id).timestamp\n") in done.stderr
    assert f"The content (['a', 'b', 'c']) of the mapping file \"'{mine}/mapping.csv'\" is invalid.\n" in done.stderr


def test_large_rules_are_told(tmp_path):
    mine, right, rules = network(tmp_path)
    with open(rules, "a") as file:
        file.write(" " * (100 << 20))
    done = compare("-m", mine, "-g", right, "-f", rules, "-out", tmp_path)
    size = rules.stat().st_size
    assert done.returncode == 0
    assert f"[WARNING] The size ({size}) of '{rules}' exceeds 100MB, it may task more time to run, please wait.\n" in done.stderr
