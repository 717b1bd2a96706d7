#!/usr/bin/env bash
# A Python of Debian testing to take the headers of, for a machine that has none of that version: prints the program. It is unpacked once,
# in the cache of the user, beside the libc that it needs, and nothing is installed. Usage: tools/wheel/fetch_python.sh 3.14
set -euo pipefail
version=$1 suite=forky
machine=$(uname -m)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/wheel/python-$version
if [ ! -e "$folder/complete" ]; then
  echo "fetch_python.sh: fetching Python $version" >&2
  rm -rf "$folder"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/debs"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$folder/apt/sources.list"
  apt=(-o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/apt/lists"
    -o "Dir::Cache=$folder/apt/cache" -o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
  apt-get "${apt[@]}" -qq update >&2
  (cd "$folder/debs" && apt-get "${apt[@]}" -qq download "libpython$version-"{minimal,stdlib,dev} "python$version-minimal" libc6 libexpat1 zlib1g >&2)
  for file in "$folder"/debs/*.deb; do dpkg -x "$file" "$folder"; done
  # Debian keeps one header beside the others for each architecture. What it says is the same for those that wheels are made for.
  headers=$folder/usr/include
  for architecture in x86_64 aarch64; do
    mkdir -p "$headers/python$version/$architecture-linux-gnu/python$version"
    cp "$headers/$machine-linux-gnu/python$version/pyconfig.h" "$headers/python$version/$architecture-linux-gnu/python$version"
  done
  libraries=$folder/usr/lib/$machine-linux-gnu
  printf '#!/bin/sh\nexec %s --library-path %s %s -B "$@"\n' "$(echo "$libraries"/ld-linux-*.so.*)" "$libraries" "$folder/usr/bin/python$version" >"$folder/python"
  chmod +x "$folder/python"
  rm -rf "$folder/apt" "$folder/debs"
  touch "$folder/complete"
fi
echo "$folder/python"
