#!/usr/bin/env bash
# A virtual environment with MindSpore for the CPU from PyPI, whose own dumps judge ours. Prints its interpreter.
# Usage: tools/fetch_mindspore.sh [--where] [VERSION [PYTHON]]; default: the version in mindspore_version.txt, for the python3
# of PATH. --where installs nothing. It is made once and kept in the cache of the user: some 3 GB.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
read_arguments mindspore "$@"
if is_missing "mindspore==$version"; then
  begin "MindSpore $version"
  # Its wheel has 800 MB: a connection may break.
  add_packages --retries 20 --timeout 60 "mindspore==$version"
  finish "mindspore==$version"
fi
echo "$target/bin/python"
