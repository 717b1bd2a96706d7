#!/usr/bin/env bash
# Holds the layout of our C and C++ files (clang-format) and, with the argument `tidy`, the rules of .clang-tidy over src/
# (minutes; needs build/release; JOBS=8 runs eight at once). `fix` rewrites the layout instead of complaining.
set -euo pipefail
cd "$(dirname "$0")/.."

format() {
  find src include adapters python tests fuzz bench \( -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cc' \) -print0 |
    xargs -0 "${CLANG_FORMAT:-clang-format}" "$@"
}

case "${1:-format}" in
  format) format --dry-run -Werror ;;
  fix) format -i ;;
  tidy)
    # One process for each file: a finding in one does not hide those of the next.
    find src -name '*.cc' ! -name '*_test.cc' -print0 |
      xargs -0 -n 1 -P "${JOBS:-1}" "${CLANG_TIDY:-clang-tidy}" -p build/release --quiet
    ;;
  *)
    echo "usage: tools/check_style.sh [format|fix|tidy]" >&2
    exit 2
    ;;
esac
