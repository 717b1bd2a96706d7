#!/usr/bin/env bash
# The unit tests for aarch64, and the tests that run the program on files, on any machine: qemu-user-static runs what was built for these
# processors. Usage: tools/check_aarch64.sh [FOLDER...]; the unit tests of these folders of src, by default those on which bits depend.
# Takes what tools/build_wheel.sh --aarch64 has built, and the libc of the system in which tools/wheel/try_wheel.sh tries that wheel.
# Needs Debian's googletest. OPDUMP_JOBS limits the jobs.
set -euo pipefail
cd "$(dirname "$0")/.."
folders=("$@")
[ $# -gt 0 ] || folders=(math format model compare dump msaccucmp)
root=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/bare/bookworm-arm64
build=build/wheel-aarch64
for needed in "$root/complete" "$build/build.ninja" /usr/src/googletest; do
  [ -e "$needed" ] || { echo "check_aarch64.sh: $needed is missing" >&2 && exit 2; }
done
OPDUMP_WHEEL_TOOLS=$(tools/wheel/toolchain.sh aarch64)
export OPDUMP_WHEEL_TOOLS OPDUMP_WHEEL_ARCH=aarch64 QEMU_LD_PREFIX=$root
jobs=(${OPDUMP_JOBS:+--parallel "$OPDUMP_JOBS"})

googletest=$PWD/build/googletest-aarch64
if [ ! -e "$googletest/installed" ]; then
  cmake -S /usr/src/googletest -B "$googletest" -G Ninja --toolchain "$PWD/tools/wheel/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$googletest/installed" >/dev/null
  cmake --build "$googletest" "${jobs[@]}" --target install >/dev/null
fi
cmake -B $build -DOPDUMP_DEVELOPER=ON -DGTest_DIR="$googletest/installed/lib/cmake/GTest" >/dev/null
cmake --build $build "${jobs[@]}" --target opdump_cli "${folders[@]/%/_test}"
# Below QEMU_LD_PREFIX, /proc is a folder like others, and only root may enter any.
export GTEST_FILTER=-DumpSetTest.UnreadableDirectory:BudgetTest.AFileSystemWithoutFilesIsNotFull
programs=$(IFS='|' && echo "${folders[*]}")
ctest --test-dir $build --output-on-failure --timeout 3600 -R "^unit\.($programs)$|^cli\.(ls|show|select|compare)$|^docs\.(compare|convert|reading|msaccucmp)"
