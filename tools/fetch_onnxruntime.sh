#!/usr/bin/env bash
# Fetches ONNX Runtime's library from the npm package onnxruntime-node, release tools/onnxruntime_version.txt, checks its
# hash and puts it where opdump looks for it. Does nothing if it is there, or if OPDUMP_ONNXRUNTIME names another one.
# Nothing of the package is run.
set -euo pipefail
cd "$(dirname "$0")"

version=$(cat onnxruntime_version.txt)
sha512=OBTsG0W8ddBVOeVVVychpVBS87A9YV5sa2hJ6lc025T97Le+J4v++PwSC4XFs1C62SWyNdof0Mh4KvnZgtt4aw==  # of the package
target=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/onnxruntime/$version
[ -n "${OPDUMP_ONNXRUNTIME:-}" ] || [ -f "$target/libonnxruntime.so.1" ] && exit 0

case "$(uname -m)" in
  x86_64) machine=x64 ;;
  aarch64) machine=arm64 ;;
  *)
    echo "fetch_onnxruntime.sh: the package has no library for $(uname -m); set OPDUMP_ONNXRUNTIME to one" >&2
    exit 1
    ;;
esac
echo "fetch_onnxruntime.sh: fetching ONNX Runtime $version" >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent --ignore-scripts "onnxruntime-node@$version" >/dev/null)
package=$work/onnxruntime-node-$version.tgz
if [ "$(openssl dgst -sha512 -binary "$package" | base64 -w 0)" != "$sha512" ]; then
  echo "fetch_onnxruntime.sh: onnxruntime-node $version is not the package that was expected (SHA-512)" >&2
  exit 1
fi
tar -xzf "$package" -C "$work" --wildcards "package/bin/napi-v*/linux/$machine/libonnxruntime.so.1" package/LICENSE 2>/dev/null ||
  tar -xzf "$package" -C "$work" --wildcards "package/bin/napi-v*/linux/$machine/libonnxruntime.so.1"
mkdir -p "$target"
mv "$work"/package/bin/napi-v*/linux/"$machine"/libonnxruntime.so.1 "$target/.new.$$"
mv "$target/.new.$$" "$target/libonnxruntime.so.1"  # whole, or not at all
