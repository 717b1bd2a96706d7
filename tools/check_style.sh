#!/usr/bin/env bash
# Holds the layout of our C and C++ files (clang-format) and the rules of .clang-tidy. Usage: tools/check_style.sh
#
#   [format]              complains about layout
#   fix                   rewrites it
#   tidy                  clang-tidy over src/ (an hour on two cores)
#   tidy changed [BASE]   over what differs from BASE: by default where this branch left main, on main the last commit. Ends after
#                         TIDY_SECONDS (100) with what it has found, the files with most changes first; JOBS run at once.
set -euo pipefail
cd "$(dirname "$0")/.."

format() {
  find src include adapters python tests fuzz bench \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cc' \) -print0 |
    xargs -0 "${CLANG_FORMAT:-clang-format}" "$@"
}

# clang-tidy needs the command of each file as clang takes it: without joined sources and gcc's precompiled headers.
configure_tidy() {
  cmake --preset tidy >/dev/null
}

# One process for each file that standard input names: a finding in one does not hide those of the next. $1: a file to which those
# that are done are added; those with findings to one beside it.
tidy() {
  # shellcheck disable=SC2016 - the inner shell expands it
  xargs -d '\n' -r -n 1 -P "${JOBS:-$(nproc)}" sh -c '
    "${CLANG_TIDY:-clang-tidy}" -p build/tidy --quiet "$2" 2>/dev/null
    status=$?
    echo "$2" >>"$1"
    [ $status -eq 0 ] || echo "$2" >>"$1.bad"
    exit $status' sh "$1"
}

# The sources of src/ that differ from $1, those of changed headers included; the most changed ones first.
changed_sources() {
  git diff --numstat --no-renames --diff-filter=d "$1" -- 'src/*.cc' 'src/*.h' | sort -rn | cut -f 3 | sed 's/\.h$/.cc/' |
    awk '!seen[$0]++' | while read -r source; do
      case $source in *_test.cc) ;; *) [ ! -e "$source" ] || echo "$source" ;; esac
    done
}

tidy_changed() {
  local base=${1:-} count status=0
  if [ -z "$base" ]; then
    base=$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
    [ "$base" != "$(git rev-parse HEAD)" ] || base=HEAD~
  fi
  git rev-parse --quiet --verify "$base^{commit}" >/dev/null || {
    echo "check_style.sh: there is no commit $base to compare with" >&2
    return 2
  }
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  configure_tidy
  changed_sources "$base" >"$work/sources"
  touch "$work/done"
  export -f tidy
  timeout "${TIDY_SECONDS:-100}" bash -c 'tidy "$1" <"$2"' bash "$work/done" "$work/sources" || status=$?
  count=$(wc -l <"$work/sources")
  echo "check_style.sh: clang-tidy has looked at $(wc -l <"$work/done") of $count files that changed since $(git rev-parse --short "$base")" >&2
  [ ! -e "$work/done.bad" ] || return 1
  [ $status -eq 124 ] || return $status
}

case "${1:-format}" in
  format) format --dry-run -Werror ;;
  fix) format -i ;;
  tidy)
    if [ "${2:-}" = changed ]; then
      tidy_changed "${3:-}"
    else
      work=$(mktemp -d)
      trap 'rm -rf "$work"' EXIT
      configure_tidy
      find src -name '*.cc' ! -name '*_test.cc' | tidy "$work/done"
    fi
    ;;
  *)
    echo "usage: tools/check_style.sh [format|fix|tidy [changed [BASE]]]" >&2
    exit 2
    ;;
esac
