#!/usr/bin/env bash
# A virtual environment with SGLang from PyPI, without what it requires: of it, only the dumper is run in tests, which needs
# nothing but torch. Prints its interpreter. Usage: tools/fetch_sglang.sh [--where] [VERSION [PYTHON]]; default: the version in
# sglang_version.txt, the last one whose dumper.py does not import the rest of SGLang, for the python3 of PATH. --where installs
# nothing. It uses the torch of tools/fetch_torch.sh, which it installs if it is missing.
set -euo pipefail
install=yes
if [ "${1:-}" = --where ]; then
  install=no
  shift
fi
here=$(dirname "$0")
version=${1:-$(cat "$here/sglang_version.txt")}
python=${2:-$(command -v python3)}
tag=$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
target=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/sglang/$version-$tag
if [ $install = yes ] && [ ! -e "$target/complete" ]; then
  torch=$("$here/fetch_torch.sh" "$(cat "$here/torch_version.txt")" "$python")
  echo "fetch_sglang.sh: installing SGLang $version for $python into $target" >&2
  mkdir -p "$(dirname "$target")"
  [ -e "$target/bin/python" ] || "$python" -m venv --without-pip "$target"
  "$torch" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$("$target/bin/python" -c \
    'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
  pip=("$python")
  "$python" -m pip --version >/dev/null 2>&1 || pip=(/usr/bin/python3)
  "${pip[@]}" -m pip --quiet --python "$target/bin/python" install --no-deps "sglang==$version" >&2
  touch "$target/complete"
fi
echo "$target/bin/python"
