#!/usr/bin/env bash
# A virtual environment with msprobe (mindstudio-probe) and Polygraphy from PyPI, whose dumps are read in tests. Prints its
# interpreter. Usage: tools/fetch_msprobe.sh [--where] [VERSION [PYTHON]]; default: the version in msprobe_version.txt, for the
# python3 of PATH. --where installs nothing. It uses the torch of tools/fetch_torch.sh, which it installs if it is missing.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
read_arguments msprobe "$@"
packages=("mindstudio-probe==$version" polygraphy==0.53.6)
if is_missing "${packages[@]}"; then
  torch=$("$tools/fetch_torch.sh" "$(cat "$tools/torch_version.txt")" "$python")
  begin "msprobe $version"
  add_environment "$torch"
  add_packages "${packages[@]}"
  finish "${packages[@]}"
fi
echo "$target/bin/python"
