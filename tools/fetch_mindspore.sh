#!/usr/bin/env bash
# A virtual environment with MindSpore for the CPU from PyPI, whose own dumps judge ours. Prints its interpreter.
# Usage: tools/fetch_mindspore.sh [--where] [VERSION [PYTHON]]; default: the version in mindspore_version.txt, for the python3
# of PATH. --where installs nothing. It is made once and kept in the cache of the user: some 3 GB.
set -euo pipefail
install=yes
if [ "${1:-}" = --where ]; then
  install=no
  shift
fi
version=${1:-$(cat "$(dirname "$0")/mindspore_version.txt")}
python=${2:-$(command -v python3)}
tag=$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
target=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/mindspore/$version-$tag
if [ $install = yes ] && [ ! -e "$target/complete" ]; then
  echo "fetch_mindspore.sh: installing MindSpore $version for $python into $target" >&2
  rm -rf "$target"
  mkdir -p "$(dirname "$target")"
  "$python" -m venv --without-pip "$target"
  # Its wheel has 800 MB: a connection may break.
  "$python" -m pip --quiet --retries 20 --timeout 60 --python "$target/bin/python" install "mindspore==$version" >&2
  touch "$target/complete"
fi
echo "$target/bin/python"
