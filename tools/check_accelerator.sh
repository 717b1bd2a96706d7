#!/usr/bin/env bash
# Tries opdump on a machine with an NVIDIA GPU, without a network or a compiler: some ten minutes.
# Usage: tools/check_accelerator.sh WHEEL [--device cpu] [--fast] [--only NAMES]; PYTHON names the Python that has torch.
# WHEEL is what tools/build_wheel.sh makes; take it along with this folder. With --device cpu what needs no GPU runs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(realpath "$1")
shift
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m zipfile -e "$wheel" "$work/opdump"  # a wheel is an archive; this needs no pip
chmod +x "$work/opdump/opdump/bin/opdump"
export OPDUMP_PYTHON=$python PYTHONPATH=$work/opdump${PYTHONPATH:+:$PYTHONPATH}
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
"$work/opdump/opdump/bin/opdump" doctor || true
"$python" "$here/accelerator/check.py" "$work/opdump/opdump/bin/opdump" "$@"
