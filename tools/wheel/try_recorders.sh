#!/usr/bin/env bash
# Tries each recorder of a wheel with the PyTorch of PyPI that it is made for, in a bare Debian 12 without a compiler (as root), and prints
# a line for each. Usage: tools/wheel/try_recorders.sh WHEEL [VERSION...]; default: the versions of torch_versions.txt.
# PyTorch is fetched once, with CUDA's libraries, and kept in the cache of the user: 3 to 5 GB for each version. For aarch64, which runs by
# qemu-user-static, the builds up to 2.8 have none of these libraries and take 0.5 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
wheel=$1
shift
versions=("$@")
[ $# -gt 0 ] || mapfile -t versions < <(grep -v '^#' "$here/torch_versions.txt" | cut -d' ' -f1)
sites=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/torch-site
of=() name=cp311  # the Python of Debian 12
case $wheel in
  *_aarch64.whl)  # without what pip takes this machine's processor to need
    of=(--platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 --no-deps filelock typing-extensions sympy mpmath networkx jinja2
      markupsafe fsspec)
    name=cp311-aarch64
    ;;
esac
log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
for version in "${versions[@]}"; do
  site=$sites/$version-$name
  if [ ! -e "$site/complete" ]; then
    echo "try_recorders.sh: fetching torch $version" >&2
    rm -rf "$site"
    python3 -m pip --quiet install --only-binary=:all: --python-version 3.11 "${of[@]}" --target "$site" "torch==$version" numpy >&2
    touch "$site/complete"
  fi
  if "$here/try_wheel.sh" "$wheel" bookworm "site:$site" >"$log" 2>&1 && grep '^recorder    of the package' "$log"; then
    grep '^== ' "$log"
  else
    tail -n 20 "$log"
    echo "try_recorders.sh: the recorder for torch $version did not pass" >&2
    status=1
  fi
done
exit $status
