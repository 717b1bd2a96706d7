#!/usr/bin/env bash
# What takes too long for continuous integration: every fuzz target for some minutes, thousands of damaged dumps, identical
# runs compared five times, messy programs in every mode, memory with large tensors. Usage: tools/nightly.sh [SECONDS_PER_FUZZ_TARGET]
set -euo pipefail
cd "$(dirname "$0")/.."
./build.sh

# The unit tests without optimisation and with assertions; and no two definitions of one name that differ.
cmake --preset odr >/dev/null
cmake --build --preset odr --target odr unit_tests
ctest --preset odr --parallel "$(nproc)" -R unit

# The unit tests under gcc's sanitizers.
cmake --preset asan >/dev/null
cmake --build --preset asan --target unit_tests
ctest --preset asan --parallel "$(nproc)" -R unit

cmake --preset fuzz -DOPDUMP_FUZZ_SECONDS="${1:-600}" >/dev/null
cmake --build --preset fuzz --target fuzzers
status=0
ctest --preset fuzz --parallel "$(nproc)" -R fuzz || status=1
/usr/bin/python3 -B fuzz/mutate.py build/release/bin/opdump --cases 5000 --seed "$(date +%F)" || status=1
/usr/bin/python3 bench/verdict_stability.py --runs 5 || status=1
/usr/bin/python3 -B bench/transparency.py || status=1
/usr/bin/python3 bench/memory.py --mib 2048 --dir build --build build/release || status=1
OPDUMP_CASES=all ./test.sh --all || status=1
export OPDUMP_BIN=$PWD/build/release/bin/opdump
OPDUMP_TORCH2=$(tools/fetch_torch.sh)
export OPDUMP_TORCH2
/usr/bin/python3 -B -m pytest -q tests/torch2 tests/device --ignore tests/torch2/users || status=1
/usr/bin/python3 -B -m pytest -q -m nightly tests/conformance tests/interop/test_debug_mode.py tests/sharded || status=1
tools/release.sh || status=1  # the wheel, in bare systems
PYTHON=$OPDUMP_TORCH2 tools/check_accelerator.sh dist/opdump-*.whl --device cpu --fast || status=1  # what of it needs no GPU
exit "$status"
