"""One network with axes in another order, or merged: no difference, or the fault by its operator."""

import pytest
from test_rows import first_bad, record, run_compare  # noqa: F401, a fixture

ENCODER = {"epsilon": "Default/blocks-TransformerEncoder/layers-ModuleList/1-TransformerEncoderLayer/norm1-LayerNorm/native_layer_norm-op0", "scale": "Default/mul-op0"}
BLOCKS = {"epsilon": "Default/blocks-Sequential/1-Block/second-LayerNorm/native_layer_norm-op0", "scale": "Default/mul-op0"}
CASES = {("encoder", "tokens_first"): ENCODER, ("tokens_first",): BLOCKS, ("flat",): BLOCKS, ("flat", "tokens_first"): BLOCKS}


@pytest.mark.parametrize("case, fault", [(case, fault) for case, faults in CASES.items() for fault in [None, *faults]])
def test_axes_in_another_order(record, case, fault):  # noqa: F811
    golden = record(*[option for option in case if option == "encoder"], program="layouts.py")
    status, summary = run_compare(golden, record(*case, *([f"fault={fault}"] if fault else []), program="layouts.py"))
    assert (status, first_bad(summary)) == (1 if fault else 0, CASES[case].get(fault)), summary["text"]
    assert ("axes in another order" if "tokens_first" in case else "axes that the other one has merged") in " ".join(summary["notes"])


def test_data_in_another_order_for_a_model_that_does_not_expect_it(record):  # noqa: F811
    """It mixes the batch where it should mix tokens: the attention's product fits in no order of axes."""
    golden, actual = record("encoder", program="layouts.py"), record("encoder", "tokens_first", "swapped", program="layouts.py")
    status, summary = run_compare(golden, actual)
    assert (status, first_bad(summary).rsplit("/", 1)) == (1, ["Default/blocks-TransformerEncoder/layers-ModuleList/0-TransformerEncoderLayer/self_attn-MultiheadAttention", "bmm-op0"]), summary["text"]
