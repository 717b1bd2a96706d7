#!/usr/bin/env bash
# Installs what opdump needs, by name, from Debian's packages, and ONNX Runtime's library from npm. Does nothing if all of
# it is there.
set -euo pipefail
cd "$(dirname "$0")"

packages=(
  # to build
  cmake ninja-build g++ ccache pkg-config clang-format clang-tidy
  clang libclang-rt-dev  # sanitizers and fuzz targets
  nlohmann-json3-dev libcli11-dev libhwy-dev libsimdjson-dev libre2-dev zlib1g-dev
  libprotozero-dev libhdf5-dev libxxhash-dev
  libsqlite3-dev libcpp-httplib-dev  # optional: results that are kept, and shown in a browser
  chromium  # the pages are looked at by the tests
  # the PyTorch runtime and its headers
  python3-torch libtorch-dev python3-dev pybind11-dev
  # the example and the tests: files are read back by the programs people use
  python3-sklearn python3-numpy python3-pandas python3-pytest libgtest-dev libgmock-dev
  python3-pip python3-setuptools python3-wheel
  protobuf-compiler python3-h5py hdf5-tools
  # models for the tests, and the hash of the package that has ONNX Runtime's library
  python3-onnx python3-torchvision openssl
  libopenmpi-dev openmpi-bin  # optional: comparisons by several processes
)
command -v npm >/dev/null || packages+=(npm)  # other builds of nodejs bring it themselves

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exec tools/fetch_onnxruntime.sh
fi

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
exec tools/fetch_onnxruntime.sh
