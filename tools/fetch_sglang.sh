#!/usr/bin/env bash
# A virtual environment with SGLang from PyPI, without what it requires: of it, only the dumper is run in tests, which needs
# nothing but torch. Prints its interpreter. Usage: tools/fetch_sglang.sh [--where] [VERSION [PYTHON]]; default: the version in
# sglang_version.txt, the last one whose dumper.py does not import the rest of SGLang, for the python3 of PATH. --where installs
# nothing. It uses the torch of tools/fetch_torch.sh, which it installs if it is missing.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
read_arguments sglang "$@"
if is_missing "sglang==$version"; then
  torch=$("$tools/fetch_torch.sh" "$(cat "$tools/torch_version.txt")" "$python")
  begin "SGLang $version"
  add_environment "$torch"
  add_packages --no-deps "sglang==$version"
  finish "sglang==$version"
fi
echo "$target/bin/python"
