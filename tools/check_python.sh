#!/usr/bin/env bash
# Checks the Python code: ruff everywhere (ruff.toml), pyright for python/ (pyrightconfig.json), and that each public name of the
# package has a known type, as py.typed promises. Usage: tools/check_python.sh [fix]; `fix` has ruff correct what it can.
# Without the tools of tools/fetch_linters.sh it ends with status 77, which ctest takes for "skipped".
set -euo pipefail
cd "$(dirname "$0")/.."
linters=$(tools/fetch_linters.sh --where)
if [ ! -e "$linters/complete" ]; then
  echo "check_python.sh: ruff and pyright are missing: tools/fetch_linters.sh installs them" >&2
  exit 77
fi
"$linters/bin/ruff" check --quiet ${1:+--fix} .
pyright=("$linters/node_modules/.bin/pyright" --pythonpath "$linters/bin/python")
"${pyright[@]}"
# It finds the package where this Python does.
PYTHONPATH=$PWD/python "${pyright[@]}" --verifytypes opdump --ignoreexternal
