#!/usr/bin/env bash
# What a release consists of, in dist/: the wheels, Debian packages of them, a source archive, what is linked in (CycloneDX) and the
# checksums of all. Then each is tried in bare systems (as root). The wheel and the package, without a compiler: Debian 11, 12 and 13, the
# last two with their own PyTorch. The source archive, with one: Debian 13.
# Usage: tools/release.sh [--twice] [--aarch64] [--recorders]; --twice builds the wheel again elsewhere, and compares. --aarch64 makes the
# wheel of that architecture, too, and tries it on Debian 12 by qemu-user-static. --recorders tries each recorder with PyPI's PyTorch.
set -euo pipefail
cd "$(dirname "$0")/.."
twice='' recorders='' architectures=(x86_64)
for word in "$@"; do
  case $word in
    --twice) twice=yes ;;
    --recorders) recorders=yes ;;
    --aarch64) architectures+=(aarch64) ;;
    *) echo "release.sh: $word is not known" >&2 && exit 2 ;;
  esac
done
rm -rf dist
tools/build_wheel.sh
wheel=$(echo dist/opdump-*.whl)
if [ -n "$twice" ]; then
  again=$(mktemp -d)
  trap 'rm -rf "$again"' EXIT
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$again"
  CCACHE_DISABLE=1 OPDUMP_NEW_RECORDERS=1 "$again/tools/build_wheel.sh"
  cmp "$wheel" "$again"/dist/*.whl
  echo "release.sh: built twice, with the same bytes" >&2
fi
[ ${#architectures[@]} -eq 1 ] || tools/build_wheel.sh --aarch64
for architecture in "${architectures[@]}"; do
  built=$(echo dist/opdump-*_"$architecture".whl)
  tools/wheel/make_deb.py "$built" dist
  tools/wheel/sbom.py "$built" "$(tools/wheel/toolchain.sh "$architecture")" >"${built%-py3-*}-$architecture.cdx.json"
done
# setuptools takes the times of the files: the same content shall give the same bytes.
work=$(mktemp -d)
/usr/bin/python3 setup.py -q egg_info --egg-base "$work" sdist --dist-dir "$work/sdist"
tar -xf "$work"/sdist/*.tar.gz -C "$work/sdist"
source=dist/$(basename "$work"/sdist/*.tar.gz)
(cd "$work/sdist" && tar --sort=name --mtime=@1577836800 --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w -cf - */) | gzip -n9 >"$source"
rm -rf "$work"
(cd dist && sha256sum -- * >SHA256SUMS)
cat dist/SHA256SUMS

try=tools/wheel/try_wheel.sh
$try "$wheel" bullseye
for file in "$wheel" dist/*_amd64.deb; do
  for suite in bookworm trixie; do $try "$file" $suite debian:python3-torch; done
done
[ -z "$recorders" ] || tools/wheel/try_recorders.sh "$wheel"
[ ${#architectures[@]} -eq 1 ] || $try dist/*_aarch64.whl bookworm debian:python3-torch
$try "$source" trixie debian:python3-torch debian:libtorch-dev
