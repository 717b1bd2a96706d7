"""Networks of PyTorch against their ports to Flax."""

import re

import pytest
from conftest import compare, record, record_torch

# The faults of flax_nets.py, and where opdump sees them.
FAULTS = {
    "mlp": {"eps": r"Default/norm-LayerNorm/native_layer_norm-op0 .* eps is 1e-05 in golden and 0\.01 in actual",
            "kernel": r"Default/second-Linear/addmm-op0 .* inputs match, output differs"},
    "cnn": {"eps": r"Default/norm1-BatchNorm2d/native_batch_norm-op0 .* eps is 1e-05 in golden and 0\.01 in actual",
            "pool": r"Default/max_pool2d_with_indices-op0 .* inputs match, output differs"},
    "transformer": {"eps": r"Default/blocks-ModuleList/0-Block/norm1-LayerNorm/native_layer_norm-op0 .* eps is 1e-05 in golden",
                    "gelu": r"Default/blocks-ModuleList/0-Block/gelu-op0 .* inputs match, output differs",
                    "scale": r"Default/blocks-ModuleList/0-Block/attention-Attention/"},
}
# Modules and functions of the ports, in two steps: each has a partner in PyTorch.
PARTNERS = {"mlp": 10, "cnn": 14, "transformer": 52}


@pytest.mark.parametrize("network", FAULTS)
def test_port(network, tmp_path):
    trained = record_torch(network, tmp_path)
    assert record("flax_nets", tmp_path, network, "weights.npz", dump="flax").stdout == trained.stdout
    said = compare("torch", "flax", tmp_path, 0)
    assert f": {PARTNERS[network]} by values\n" in said and f"\nno difference: {PARTNERS[network]} operators" in said
    for fault, expected in FAULTS[network].items():
        record("flax_nets", tmp_path, network, "weights.npz", fault, dump=fault)
        said = compare("torch", fault, tmp_path, 1)
        assert re.search(f"^first bad operator: {expected}", said, re.M), f"{fault}: {said}"
