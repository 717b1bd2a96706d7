#!/usr/bin/env bash
# A virtual environment with TensorFlow for the CPU from PyPI, for the tests of its adapter. Prints its interpreter.
# Usage: tools/fetch_tensorflow.sh [--where] [VERSION [PYTHON]]; default: the version in tensorflow_version.txt, for the python3
# of PATH. --where installs nothing. It is made once and kept in the cache of the user: some 2 GB.
set -euo pipefail
install=yes
if [ "${1:-}" = --where ]; then
  install=no
  shift
fi
version=${1:-$(cat "$(dirname "$0")/tensorflow_version.txt")}
python=${2:-$(command -v python3)}
tag=$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
target=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/tensorflow/$version-$tag
if [ $install = yes ] && [ ! -e "$target/complete" ]; then
  echo "fetch_tensorflow.sh: installing TensorFlow $version for $python into $target" >&2
  rm -rf "$target"
  mkdir -p "$(dirname "$target")"
  "$python" -m venv --without-pip "$target"
  "${python}" -m pip --quiet --python "$target/bin/python" install "tensorflow-cpu==$version" >&2
  touch "$target/complete"
fi
echo "$target/bin/python"
