#!/usr/bin/env bash
# A virtual environment with PyTorch from PyPI, for the tests with a newer torch than the system's. Prints its interpreter.
# Usage: tools/fetch_torch.sh [--where] [VERSION [PYTHON]]; default: the version in torch_version.txt, for the python3 of PATH.
# --where installs nothing.
# It is made once and kept in the cache of the user: some 6 GB, because PyPI's builds bring CUDA's libraries.
set -euo pipefail
install=yes
if [ "${1:-}" = --where ]; then
  install=no
  shift
fi
version=${1:-$(cat "$(dirname "$0")/torch_version.txt")}
python=${2:-$(command -v python3)}
tag=$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
target=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/torch/$version-$tag
packages=("torch==$version" torchvision setuptools numpy pandas pytest scikit-learn nbclient ipykernel onnx onnxscript onnxruntime h5py)
# `complete` holds what was installed: an environment of an older list gets what is new.
if [ $install = yes ] && [ "$(cat "$target/complete" 2>/dev/null)" != "${packages[*]}" ]; then
  echo "fetch_torch.sh: installing torch $version for $python into $target" >&2
  mkdir -p "$(dirname "$target")"
  # Debian's venv has no pip of its own. Its Python has another fault: torch.compile then links with Debian's libtorch.
  [ -e "$target/bin/python" ] || "$python" -m venv --without-pip "$target"
  pip=("$python")
  "$python" -m pip --version >/dev/null 2>&1 || pip=(/usr/bin/python3)
  "${pip[@]}" -m pip --quiet --python "$target/bin/python" install "${packages[@]}" >&2
  echo "${packages[*]}" >"$target/complete"
fi
echo "$target/bin/python"
