#!/usr/bin/env bash
# What checks the Python code and the pages: ruff (PyPI), pyright and biome (npm), in the versions of tools/lint. Prints their
# folder: bin/python, bin/ruff, node_modules/.bin. Usage: tools/fetch_linters.sh [--where]; --where installs nothing.
# They come once for each list of versions into the user's cache; scripts of packages are not run.
set -euo pipefail
cd "$(dirname "$0")/lint"
key=$(cat package-lock.json requirements.txt | sha256sum | cut -c1-16)
target=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/linters/$key
if [ "${1:-}" != --where ] && [ ! -e "$target/complete" ]; then
  echo "fetch_linters.sh: installing ruff, pyright and biome into $target" >&2
  mkdir -p "$target"
  python=$(command -v python3)
  # Debian's venv has no pip of its own.
  [ -e "$target/bin/python" ] || "$python" -m venv --without-pip "$target"
  "$python" -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
  "$python" -m pip --quiet --python "$target/bin/python" install --no-deps --only-binary :all: -r requirements.txt >&2
  cp package.json package-lock.json "$target"
  (cd "$target" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  touch "$target/complete"
fi
echo "$target"
