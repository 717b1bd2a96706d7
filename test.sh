#!/usr/bin/env bash
# Builds if needed and runs tests: those that a change may break first; --all runs every one. Further arguments go to ctest, and
# without --all they choose among all tests: ./test.sh -R unit
# Of a test with many cases OPDUMP_CASES run, two by default; "all" runs all of them, as tools/nightly.sh does.
# Cases that a test skips are listed at the end, with the reasons.
set -euo pipefail
cd "$(dirname "$0")"
if [ "${1:-}" = --all ]; then
  shift
elif [ $# -eq 0 ]; then
  set -- --label-exclude long
fi
[ ! -t 1 ] || set -- --progress "$@"
./build.sh
export OPDUMP_CASES=${OPDUMP_CASES:-2}
status=0
ctest --preset release --parallel "$(nproc)" "$@" || status=$?
grep -h '^SKIPPED' build/release/Testing/Temporary/LastTest.log || true
exit "$status"
