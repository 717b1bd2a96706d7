#!/usr/bin/env bash
# Installs what is missing and builds the release preset into build/release: everything, or the targets named. Called by
# demo.sh and test.sh.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
if [ ! -f build/release/build.ninja ]; then
  cmake --preset release >/dev/null
fi
cmake --build --preset release ${@:+--target "$@"}
