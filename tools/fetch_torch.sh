#!/usr/bin/env bash
# A virtual environment with PyTorch from PyPI, for the tests with a newer torch than the system's. Prints its interpreter.
# Usage: tools/fetch_torch.sh [--where] [VERSION [PYTHON]]; default: the version in torch_version.txt, for the python3 of PATH.
# --where installs nothing.
# It is made once and kept in the cache of the user: some 6 GB, because PyPI's builds bring CUDA's libraries.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
read_arguments torch "$@"
packages=("torch==$version" torchvision setuptools numpy pandas pytest scikit-learn nbclient ipykernel onnx onnxscript onnxruntime h5py)
if is_missing "${packages[@]}"; then
  begin "torch $version"
  add_packages "${packages[@]}"
  finish "${packages[@]}"
fi
echo "$target/bin/python"
