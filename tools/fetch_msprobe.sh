#!/usr/bin/env bash
# A virtual environment with msprobe (mindstudio-probe) and Polygraphy from PyPI, whose dumps are read in tests. Prints its
# interpreter. Usage: tools/fetch_msprobe.sh [--where] [VERSION [PYTHON]]; default: the version in msprobe_version.txt, for the
# python3 of PATH. --where installs nothing. It uses the torch of tools/fetch_torch.sh, which it installs if it is missing.
set -euo pipefail
install=yes
if [ "${1:-}" = --where ]; then
  install=no
  shift
fi
here=$(dirname "$0")
version=${1:-$(cat "$here/msprobe_version.txt")}
python=${2:-$(command -v python3)}
tag=$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
target=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/msprobe/$version-$tag
packages=("mindstudio-probe==$version" polygraphy==0.53.6)
if [ $install = yes ] && [ "$(cat "$target/complete" 2>/dev/null)" != "${packages[*]}" ]; then
  torch=$("$here/fetch_torch.sh" "$(cat "$here/torch_version.txt")" "$python")
  echo "fetch_msprobe.sh: installing msprobe $version for $python into $target" >&2
  mkdir -p "$(dirname "$target")"
  [ -e "$target/bin/python" ] || "$python" -m venv --without-pip "$target"
  "$torch" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$("$target/bin/python" -c \
    'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
  pip=("$python")
  "$python" -m pip --version >/dev/null 2>&1 || pip=(/usr/bin/python3)
  "${pip[@]}" -m pip --quiet --python "$target/bin/python" install "${packages[@]}" >&2
  echo "${packages[*]}" >"$target/complete"
fi
echo "$target/bin/python"
