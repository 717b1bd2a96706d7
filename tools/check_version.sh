#!/usr/bin/env bash
# Prints the version. Ends with status 1, and says why, where a tag of this commit names another version, or CHANGELOG.md does not begin with a
# dated entry of it; without a tag it may also begin with what is unreleased. tools/release.sh asks before it builds.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(opdump VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
latest=$(grep -m 1 '^## ' CHANGELOG.md)
tag=$(git tag --points-at HEAD 'v*' 2>/dev/null || true)
fail() { echo "check_version.sh: $1" >&2 && exit 1; }
[ -z "$tag" ] || [ "$tag" = "v$version" ] || fail "this commit is $tag, and the version is $version"
if [ -n "$tag" ] || [ "$latest" != '## [Unreleased]' ]; then
  [[ $latest =~ ^"## [$version] - "20[0-9]{2}-[0-9]{2}-[0-9]{2}$ ]] || fail "CHANGELOG.md begins with \"$latest\", and the version is $version"
fi
echo "$version"
