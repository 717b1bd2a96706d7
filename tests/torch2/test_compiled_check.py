"""Generated code runs beside the operators of its region, and is compared with them."""

import pytest
from recording import OPDUMP, command, needs_torch, operators, record, require_torch, run, PROGRAMS

pytestmark = needs_torch
KINDS = ["fallback", "dynamic", "views", "counter", *(pytest.param(kind, marks=pytest.mark.nightly) for kind in (
    "dropout", "batch_norm", "step", "half", "cancelled", "argmax", "graph", "checkpoint"))]


@pytest.mark.parametrize("kind", KINDS)
def test_sound_code_is_no_difference(kind, tmp_path):
    require_torch(PROGRAMS / "compiled_kinds.py")
    records = {how: record(tmp_path, "compiled_kinds", kind, dump=how, options=options)
               for how, options in (("checked", []), ("aten", ["--compiled", "aten"]))}
    assert records["checked"].stdout == records["aten"].stdout
    assert "generated" not in records["checked"].stderr.replace("without the generated kernels", "")
    names = {how: [operator[0] for operator in operators(tmp_path, how)] for how in records}
    assert names["checked"] == names["aten"]
    done = run([OPDUMP, "compare", "aten", "checked", "--bitwise"], tmp_path)
    assert done.returncode == 0, done.stdout


def test_code_that_a_pass_breaks_is_named(tmp_path):
    require_torch(PROGRAMS / "compiler_pass.py")
    eager, wrong = (record(tmp_path, "compiler_pass", how, dump=how) for how in ("eager", "wrong"))
    assert "gives another result than its operators: 12 of 12 elements differ" in wrong.stderr
    assert eager.stdout == wrong.stdout, "the operators run"
    assert eager.stdout != run(command("compiler_pass", "wrong"), tmp_path).stdout, "what the program does without us"
    done = run([OPDUMP, "compare", "eager", "wrong"], tmp_path)
    assert done.returncode == 1
    assert "a compiled region whose generated code gives another result than its operators, one that golden lacks" in done.stdout.splitlines()[-1]
