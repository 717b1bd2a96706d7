#!/usr/bin/env bash
# Installs what opdump needs, by name, from Debian's packages. Does nothing if all of it is there.
set -euo pipefail

packages=(
  # to build
  cmake ninja-build g++ ccache pkg-config clang-format
  clang libclang-rt-dev  # sanitizers and fuzz targets
  nlohmann-json3-dev libcli11-dev libfmt-dev libhwy-dev libssl-dev libre2-dev
  libprotozero-dev libhdf5-dev zlib1g-dev
  # the PyTorch runtime and its headers
  python3-torch libtorch-dev python3-dev
  # the example and the tests: files are read back by the programs people use
  python3-sklearn python3-numpy python3-pandas python3-pytest libgtest-dev libgmock-dev
  protobuf-compiler python3-h5py hdf5-tools python3-onnx
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup.sh: this is not a Debian system; install by hand: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  as_root=(sudo)
fi
echo "setup.sh: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
