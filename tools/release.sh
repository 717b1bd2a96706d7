#!/usr/bin/env bash
# What a release consists of, in dist/: the wheels, Debian packages of them, a source archive, what is linked in (CycloneDX) and the
# checksums of all. Then each is tried in bare systems (as root). The wheel and the package, without a compiler: Debian 12 and 13 with their
# own PyTorch. The wheel also on Debian testing, and on Debian 11 with PyPI's PyTorch 1.13, which is fetched once and kept in the cache of
# the user. The source archive, with a compiler: Debian 12.
# Usage: tools/release.sh [--twice] [--aarch64] [--recorders] [--built]; --twice builds the wheel again elsewhere, and compares. --aarch64
# makes the wheel of that architecture, too, and tries it on Debian 12 by qemu-user-static. --recorders tries each recorder with PyPI's
# PyTorch. --built takes the wheels that lie in dist/ as they are. Each part says on the standard error how many seconds it took. A system that
# cannot be had, because the archive is out of reach or debootstrap missing, is left out; the last lines say which were, and which failed.
set -euo pipefail
cd "$(dirname "$0")/.."
twice='' recorders='' built='' architectures=(x86_64)
for word in "$@"; do
  case $word in
    --twice) twice=yes ;;
    --recorders) recorders=yes ;;
    --built) built=yes ;;
    --aarch64) architectures+=(aarch64) ;;
    *) echo "release.sh: $word is not known" >&2 && exit 2 ;;
  esac
done
took() { echo "release.sh: $1 took $((SECONDS - begin)) s" >&2 && begin=$SECONDS; }
begin=$SECONDS
version=$(tools/check_version.sh)
if [ -n "$built" ]; then
  find dist -mindepth 1 ! -name '*.whl' -delete
else
  rm -rf dist
  tools/build_wheel.sh
  took "the wheel"
fi
wheel=$(echo dist/opdump-*_x86_64.whl)
if [ -n "$twice" ]; then
  again=$(mktemp -d)
  trap 'rm -rf "$again"' EXIT
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$again"
  CCACHE_DISABLE=1 OPDUMP_NEW_RECORDERS=1 "$again/tools/build_wheel.sh"
  cmp "$wheel" "$again"/dist/*.whl
  echo "release.sh: built twice, with the same bytes" >&2
  took "the second wheel"
fi
if [ ${#architectures[@]} -gt 1 ] && [ -z "$built" ]; then
  tools/build_wheel.sh --aarch64
  took "the wheel for aarch64"
fi
for architecture in "${architectures[@]}"; do
  file=$(echo dist/opdump-*_"$architecture".whl)
  tools/wheel/make_deb.py "$file" dist
  tools/wheel/sbom.py "$file" "$(tools/wheel/toolchain.sh "$architecture")" >"${file%-py3-*}-$architecture.cdx.json"
done
# setuptools takes the times of the files: the same content shall give the same bytes. The pages are in the archive as they are built, because
# who installs from it need not have npm.
work=$(mktemp -d)
tools/build_web.sh "$work/pages" >&2
/usr/bin/python3 setup.py -q egg_info --egg-base "$work" sdist --dist-dir "$work/sdist"
tar -xf "$work"/sdist/*.tar.gz -C "$work/sdist"
source=dist/$(basename "$work"/sdist/*.tar.gz)
install -D -m 644 "$work/pages/page_asset.cc" "$(echo "$work"/sdist/*/)/web/built/page_asset.cc"
(cd "$work/sdist" && tar --sort=name --mtime=@1577836800 --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w -cf - */) | gzip -n9 >"$source"
rm -rf "$work"
for file in dist/*; do [[ $file == *[-_]$version[-_.]* ]] || { echo "release.sh: $file is of another version than $version" >&2 && exit 1; }; done
(cd dist && sha256sum -- * >SHA256SUMS)
cat dist/SHA256SUMS
took "packages, archive and checksums"

untried=() failed=()
try() {
  local what status=0
  what="$(basename "$1") on $2"
  tools/wheel/try_wheel.sh "$@" || status=$?
  case $status in
    0) ;;
    3) untried+=("$what") ;;
    *) failed+=("$what") ;;
  esac
  took "$what, with status $status,"
}
site=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/torch-site/1.13.1-cp39  # Debian 11's own is too old
if [ ! -e "$site/complete" ] && [ "$(id -u)" -eq 0 ]; then
  rm -rf "$site"
  ! python3 -m pip --quiet install --only-binary=:all: --python-version 3.9 --target "$site" torch==1.13.1 'numpy<2' >&2 || touch "$site/complete"
fi
if [ -e "$site/complete" ]; then
  try "$wheel" bullseye "site:$site"
else
  untried+=("$(basename "$wheel") with PyTorch on bullseye")
  try "$wheel" bullseye
fi
for file in "$wheel" dist/*_amd64.deb; do
  for suite in bookworm trixie; do try "$file" $suite debian:python3-torch; done
done
try "$wheel" forky debian:python3-torch
[ -z "$recorders" ] || tools/wheel/try_recorders.sh "$wheel" || failed+=("the recorders")
[ ${#architectures[@]} -eq 1 ] || try dist/*_aarch64.whl bookworm debian:python3-torch
try "$source" bookworm debian:python3-torch debian:libtorch-dev
[ ${#untried[@]} -eq 0 ] || printf 'release.sh: not tried: %s\n' "${untried[@]}" >&2
[ ${#failed[@]} -eq 0 ] || printf 'release.sh: failed: %s\n' "${failed[@]}" >&2
[ ${#failed[@]} -eq 0 ]
