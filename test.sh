#!/usr/bin/env bash
# Builds if needed and runs every test. Arguments go to ctest: ./test.sh -R unit
set -euo pipefail
cd "$(dirname "$0")"
./build.sh
ctest --preset release --parallel "$(nproc)" "$@"
