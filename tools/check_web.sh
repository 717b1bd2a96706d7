#!/usr/bin/env bash
# Lints the pages of web/ (web/biome.jsonc). Usage: tools/check_web.sh [fix]. Without the tools of tools/fetch_linters.sh it ends
# with status 77, which ctest takes for "skipped".
set -euo pipefail
cd "$(dirname "$0")/../web"
linters=$(../tools/fetch_linters.sh --where)
if [ ! -e "$linters/complete" ]; then
  echo "check_web.sh: biome is missing: tools/fetch_linters.sh installs it" >&2
  exit 77
fi
"$linters/node_modules/.bin/biome" lint --error-on-warnings --diagnostic-level=warn ${1:+--write}
