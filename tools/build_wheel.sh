#!/usr/bin/env bash
# Builds dist/opdump-VERSION-py3-none-manylinux_2_28_x86_64.whl: one wheel for every Python and every Linux with glibc 2.28,
# with recorders for the PyTorch releases of tools/wheel/torch_versions.txt.
# Usage: tools/build_wheel.sh [--aarch64] [PYTHON...]; a module to read dumps is built for each of these Pythons, of which only the
# headers are used. Default: those of PATH and of pyenv, and for 3.14 that of Debian testing. --aarch64 builds for these processors, on any
# machine; the manual pages come from the wheel for this one, which is built before. OPDUMP_JOBS limits the jobs, and OPDUMP_WHEEL_TORCHES
# the recorders (tools/wheel/recorders.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
arch=x86_64
if [ "${1:-}" = --aarch64 ]; then
  arch=aarch64
  shift
fi
tools=$(tools/wheel/toolchain.sh $arch)
export OPDUMP_WHEEL_TOOLS=$tools OPDUMP_WHEEL_ARCH=$arch

find_pythons() {
  local minor python found
  for minor in 9 10 11 12 13 14; do
    found=
    for python in "$HOME"/.pyenv/versions/3.$minor.*/bin/python3 "$(command -v python3.$minor || true)"; do
      if [ -x "$python" ] && [ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]; then
        echo "$python"
        found=1
        break
      fi
    done
    [ -n "$found" ] || [ $minor -ne 14 ] || tools/wheel/fetch_python.sh 3.$minor
  done
}
[ $# -gt 0 ] || mapfile -t pythons < <(find_pythons)
[ $# -eq 0 ] || pythons=("$@")
echo "build_wheel.sh: for ${pythons[*]}" >&2

build=build/wheel-$arch
list=$(IFS=';' && echo "${pythons[*]}")
cmake -S . -B $build -G Ninja --toolchain "$PWD/tools/wheel/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DCMAKE_C_FLAGS_RELEASE="-O2 -DNDEBUG" \
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,-s,--gc-sections -DCMAKE_SHARED_LINKER_FLAGS=-Wl,-s,--gc-sections -DCMAKE_MODULE_LINKER_FLAGS=-Wl,-s,--gc-sections \
  -DCMAKE_CXX_FLAGS="-ffunction-sections -fdata-sections" -DOPDUMP_DEVELOPER=OFF -DOPDUMP_PCH=OFF -DOPDUMP_TORCH=OFF -DOPDUMP_MPI=OFF -DOPDUMP_PACKAGE=ON \
  -DOPDUMP_PYTHONS="$list" -Dpybind11_DIR="$("$tools/venv/bin/python" -m pybind11 --cmakedir)" >/dev/null
cmake --build $build ${OPDUMP_JOBS:+--parallel "$OPDUMP_JOBS"}
rm -rf $build/stage
cmake --install $build --prefix $build/stage >/dev/null
pages=build/wheel-$(uname -m)/stage/share
if [ ! -d $build/stage/share/man ] && [ -d "$pages" ]; then
  for place in man bash-completion zsh fish; do cp -r "$pages/$place" $build/stage/share/; done
elif [ ! -d $build/stage/share/man ]; then
  echo "build_wheel.sh: without manual pages and completions, as there is no wheel for this machine" >&2
fi

tools/wheel/recorders.sh $build/recorders "${pythons[@]}"
tools/wheel/stand_ins.sh $build/recorders
tools/wheel/licences.py "$tools" $build/licences
"$tools/venv/bin/python" tools/wheel/assemble.py $build/stage $build/recorders manylinux_2_28_$arch $build/licences dist
"$tools/venv/bin/python" tools/wheel/check_wheel.py dist/opdump-*-manylinux_2_28_$arch.whl
