#!/usr/bin/env bash
# Builds the pages of web/.
#
#   build_web.sh --packages      brings the npm packages of web/package-lock.json into the user's cache; prints where
#   build_web.sh FOLDER          builds there: FOLDER/dist/index.html, and FOLDER/page_asset.cc for the program
#
# Packages come once for each lock file, checked by its hashes; their own scripts are not run. Nothing is written to web/.
set -euo pipefail
source=$(cd "$(dirname "$0")/../web" && pwd)
key=$(sha256sum "$source/package-lock.json" | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/web/$key

bring_packages() {
  [ -d "$cache/node_modules" ] && return
  if ! command -v npm >/dev/null; then
    echo "npm is missing" >&2
    return 1
  fi
  mkdir -p "${cache%/*}"
  local work
  work=$(mktemp -d "$cache.XXXXXX")
  cp "$source/package.json" "$source/package-lock.json" "$work"
  if ! (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2); then
    rm -rf "$work"
    echo "npm could not bring the packages of web/package-lock.json" >&2
    return 1
  fi
  mv -T "$work" "$cache" 2>/dev/null || rm -rf "$work"  # another one was faster
}

bring_packages
if [ "${1:-}" = --packages ]; then
  echo "$cache"
  exit
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
rm -rf "$out/web"
mkdir "$out/web"
cp -r "$source"/{src,index.html,vite.config.js,tsconfig.json,package.json} "$out/web"
ln -s "$cache/node_modules" "$out/web/node_modules"
cd "$out/web"
node_modules/.bin/tsc --noEmit
OPDUMP_PAGE_DIR=$out/dist OPDUMP_PAGE_CC=$out/page_asset.cc node_modules/.bin/vite build --logLevel warn
