#!/usr/bin/env bash
# A virtual environment with JAX, Flax and Optax for the CPU from PyPI, for the tests of what records them. Prints its interpreter.
# Usage: tools/fetch_jax.sh [--where] [VERSION [PYTHON]]; default: the version of JAX in jax_version.txt, for the python3 of PATH.
# --where installs nothing. It is made once and kept in the cache of the user: some 600 MB.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
read_arguments jax "$@"
packages=("jax==$version" "jaxlib==$version" "flax==0.12.8" "optax==0.2.8")
if is_missing "${packages[@]}"; then
  begin "JAX $version"
  add_packages "${packages[@]}"
  finish "${packages[@]}"
fi
echo "$target/bin/python"
