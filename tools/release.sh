#!/usr/bin/env bash
# What a release consists of, in dist/: the wheel, a source archive and their checksums. Then the wheel is tried in bare systems
# that have no compiler (as root): Debian 11, 12 and 13, the last two with their own PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist
tools/build_wheel.sh
/usr/bin/python3 setup.py -q egg_info --egg-base "$(mktemp -d)" sdist --dist-dir dist
(cd dist && sha256sum ./* >SHA256SUMS)
cat dist/SHA256SUMS

tools/wheel/try_wheel.sh dist/opdump-*.whl bullseye
tools/wheel/try_wheel.sh dist/opdump-*.whl bookworm debian:python3-torch
tools/wheel/try_wheel.sh dist/opdump-*.whl trixie debian:python3-torch
