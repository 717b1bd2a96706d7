# For the scripts tools/fetch_NAME.sh that keep a virtual environment in the user's cache: they source this file. An environment is
# made beside its place, as TARGET.files, and TARGET is a link to it that comes last: what was interrupted is not there. The file
# `complete` in it holds what was installed, so that an environment of an older list gets what is new.
#
#   read_arguments NAME [--where] [VERSION [PYTHON]]   sets version, python and target
#   if is_missing PACKAGE...; then
#     begin "NAME VERSION"                             makes an environment without packages, if there is none
#     add_packages PIP_OPTIONS PACKAGE...
#     finish PACKAGE...
#   fi
#   echo "$target/bin/python"
tools=$(dirname "${BASH_SOURCE[0]}")

read_arguments() {
  local name=$1
  shift
  is_asked_where=no
  if [ "${1:-}" = --where ]; then
    is_asked_where=yes
    shift
  fi
  version=${1:-$(cat "$tools/${name}_version.txt")}
  python=${2:-$(command -v python3)}
  target=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/$name/$version-$("$python" -c 'import sys; print(sys.implementation.cache_tag)')
  # An interrupted one, before TARGET was a link.
  if [ $is_asked_where = no ] && [ ! -e "$target/complete" ]; then rm -rf "$target"; fi
}

is_missing() {
  [ $is_asked_where = no ] || return 1
  [ -e "$target/complete" ] || return 0
  [ -s "$target/complete" ] && [ "$(cat "$target/complete")" != "$*" ]
}

begin() {
  echo "$(basename "$0"): installing $1 for $python into $target" >&2
  files=$target
  [ ! -e "$target/complete" ] || return 0
  files=$target.files
  rm -rf "$files"
  mkdir -p "$(dirname "$files")"
  # Debian's venv has no pip of its own. Its Python has another fault: torch.compile then links with Debian's libtorch.
  "$python" -m venv --without-pip "$files"
}

add_packages() {
  local pip=$python
  "$pip" -m pip --version >/dev/null 2>&1 || pip=/usr/bin/python3
  "$pip" -m pip --quiet --python "$files/bin/python" install "$@" >&2
}

# The environment also has the packages of another one, whose interpreter is given.
add_environment() {
  local place='import sysconfig; print(sysconfig.get_path("purelib"))'
  "$1" -c "$place" >"$("$files/bin/python" -c "$place")/torch.pth"
}

finish() {
  echo "$*" >"$files/complete"
  [ "$files" = "$target" ] || ln -sfn "$(basename "$files")" "$target"
}
