#!/usr/bin/env bash
# Builds if needed and runs every test. Arguments go to ctest: ./test.sh -R unit
# Cases that a test skips are listed at the end, with the reasons.
set -euo pipefail
cd "$(dirname "$0")"
./build.sh
status=0
ctest --preset release --parallel "$(nproc)" "$@" || status=$?
grep -h '^SKIPPED' build/release/Testing/Temporary/LastTest.log || true
exit "$status"
