#!/usr/bin/env bash
# What a release consists of, in dist/: the wheel, a Debian package of it, a source archive, what is linked in (CycloneDX) and the
# checksums of all. Then the wheel is tried in bare systems that have no compiler (as root): Debian 11, 12 and 13, the last two with
# their own PyTorch. Usage: tools/release.sh [--twice]; --twice builds the wheel again elsewhere, and compares.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist
tools/build_wheel.sh
wheel=$(echo dist/opdump-*.whl)
if [ "${1:-}" = --twice ]; then
  again=$(mktemp -d)
  trap 'rm -rf "$again"' EXIT
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$again"
  CCACHE_DISABLE=1 OPDUMP_NEW_RECORDERS=1 "$again/tools/build_wheel.sh"
  cmp "$wheel" "$again"/dist/*.whl
  echo "release.sh: built twice, with the same bytes" >&2
fi
tools/wheel/make_deb.py "$wheel" dist
tools/wheel/sbom.py "$wheel" "$(tools/wheel/toolchain.sh)" >"${wheel%-py3-*}.cdx.json"
# setuptools takes the times of the files: the same content shall give the same bytes.
work=$(mktemp -d)
/usr/bin/python3 setup.py -q egg_info --egg-base "$work" sdist --dist-dir "$work/sdist"
tar -xf "$work"/sdist/*.tar.gz -C "$work/sdist"
(cd "$work/sdist" && tar --sort=name --mtime=@1577836800 --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w -cf - */) | gzip -n9 >"dist/$(basename "$work"/sdist/*.tar.gz)"
rm -rf "$work"
(cd dist && sha256sum -- * >SHA256SUMS)
cat dist/SHA256SUMS

tools/wheel/try_wheel.sh "$wheel" bullseye
tools/wheel/try_wheel.sh "$wheel" bookworm debian:python3-torch
tools/wheel/try_wheel.sh "$wheel" trixie debian:python3-torch
