#!/usr/bin/env bash
# A virtual environment with TensorFlow for the CPU from PyPI, for the tests of its adapter. Prints its interpreter.
# Usage: tools/fetch_tensorflow.sh [--where] [VERSION [PYTHON]]; default: the version in tensorflow_version.txt, for the python3
# of PATH. --where installs nothing. It is made once and kept in the cache of the user: some 2 GB.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
read_arguments tensorflow "$@"
if is_missing "tensorflow-cpu==$version"; then
  begin "TensorFlow $version"
  add_packages "tensorflow-cpu==$version"
  finish "tensorflow-cpu==$version"
fi
echo "$target/bin/python"
