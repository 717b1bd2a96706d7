#!/usr/bin/env bash
# Runs the tests that record programs in each environment, and writes what ran into the table of docs/support.md.
# Usage: tools/matrix.sh [--prepare] [ENVIRONMENT...] [-- TESTS AND ARGUMENTS OF PYTEST]; default: every environment, all tests.
#   debian12        this machine: Debian 12 with its own torch
#   debian13        Debian 13 with its own torch, in a folder made by debootstrap (root, 6 GB; 12 with newest-python); builds the project there
#   between         torch 2.4 from PyPI, for python3
#   newest          the newest torch of PyPI, for python3
#   newest-python   the same, for Debian 13's Python, in debian13's folder
# --prepare makes the environment and runs no test. Environments are kept in the cache of the user, and so are the outcomes of
# their tests: a run of some tests, as "tools/matrix.sh newest -- tests/torch2/test_users.py", leaves the others in the table.
set -euo pipefail
cd "$(dirname "$0")/.."

environments=() arguments=() prepare_only=no
while [ $# -gt 0 ]; do
  case $1 in
    --prepare) prepare_only=yes ;;
    --) shift; arguments=("$@"); break ;;
    debian12 | debian13 | between | newest | newest-python) environments+=("$1") ;;
    *) echo "matrix.sh: no environment is called $1" >&2; exit 2 ;;
  esac
  shift
done
[ ${#environments[@]} -gt 0 ] || environments=(debian12 debian13 between newest newest-python)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/matrix
mkdir -p "$cache"

# Without the programs that tests record, one of which is a suite of its own, and C++ programs, which have the system's torch.
tests=(tests/conformance tests/torch2 tests/device --ignore tests/torch2/users --deselect tests/conformance/test_cpp.py)
[[ ${arguments[0]:-} != tests/* ]] || tests=()

# run_tests PYTHON: in the current directory, with its build. Prints pytest's report; leaves it in build/matrix.xml.
run_tests() {
  OPDUMP_BIN=$PWD/build/release/bin/opdump OPDUMP_TRAIN=$PWD/build/release/bin OPDUMP_TORCH2=$1 PYTHONDONTWRITEBYTECODE=1 \
    "$1" -B -m pytest -q -rfE -p no:cacheprovider "${tests[@]}" --junitxml build/matrix.xml "${arguments[@]}" || return 1
}

in_debian13() {
  local root=$cache/debian13
  mkdir -p "$cache/../onnxruntime" "$root/root/.cache/opdump/onnxruntime"
  unshare --mount --pid --fork -- bash -euo pipefail -c '
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    mount --bind "$0/../../onnxruntime" "$0/root/.cache/opdump/onnxruntime"  # the library is the same
    certificates=/etc/ssl/certs/ca-certificates.crt
    exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 \
      CCACHE_DIR=/root/.ccache SSL_CERT_FILE="$certificates" PIP_CERT="$certificates" bash -euo pipefail -c "cd /opdump; $1" bash "${@:2}"' "$root" "$@"
}

prepare_debian13() {
  local root=$cache/debian13
  if [ ! -e "$root/complete" ]; then
    command -v debootstrap >/dev/null || { echo "matrix.sh: install debootstrap" >&2; return 1; }
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates trixie "$root" >"$cache/debian13.log"
    mkdir "$root/opdump"
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/matrix"  # no fsync for each of a thousand packages
    touch "$root/complete"
  fi
  cp /etc/resolv.conf /etc/hosts "$root/etc"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"  # a proxy may have its own
  # The sources with their times, so that a later run compiles only what changed.
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$root/opdump"
  in_debian13 './setup.sh
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-nbclient python3-ipykernel python3-pip python3-venv \
      g++-12 g++-13 clang-17 clang-18 clang-19 >/dev/null
    cmake --preset release >/dev/null
    cmake --build --preset release --target opdump_cli opdump_python'
}

# prepare ENVIRONMENT: makes what is missing, and prints the interpreter.
prepare() {
  case $1 in
    debian13) prepare_debian13 >&2 && echo /usr/bin/python3 ;;
    debian12) ./build.sh opdump_cli opdump_python >&2 && echo /usr/bin/python3 ;;
    between) ./build.sh opdump_cli opdump_python >&2 && tools/fetch_torch.sh 2.4.1 ;;
    newest) ./build.sh opdump_cli opdump_python >&2 && tools/fetch_torch.sh ;;
    newest-python) prepare_debian13 >&2 && in_debian13 'tools/fetch_torch.sh "$(cat tools/torch_version.txt)" /usr/bin/python3' ;;
  esac
}

status=0
for environment in "${environments[@]}"; do
  echo "matrix.sh: $environment" >&2
  python=$(prepare "$environment") || { echo "matrix.sh: $environment could not be prepared" >&2; status=1; continue; }
  [ $prepare_only = no ] || continue
  if [ "$environment" = debian13 ] || [ "$environment" = newest-python ]; then
    rm -f "$cache/debian13/opdump/build/matrix.xml"
    in_debian13 "$(declare -p tests arguments); $(declare -f run_tests); run_tests $python" || status=1
    report=$cache/debian13/opdump/build/matrix.xml
    facts=$(in_debian13 "$python tools/support_table.py facts")
  else
    rm -f build/matrix.xml
    run_tests "$python" || status=1
    report=build/matrix.xml
    facts=$("$python" tools/support_table.py facts)
  fi
  /usr/bin/python3 tools/support_table.py write docs/support.md "$environment" "$facts" "$cache/$environment.json" "$report"
done
exit "$status"
