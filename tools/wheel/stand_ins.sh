#!/usr/bin/env bash
# Debian's libraries of PyTorch have names that end in a version, libtorch_cpu.so.1.13, and a recorder asks for libtorch_cpu.so. Beside each
# recorder that may run there this makes a library of that name that needs Debian's: what is in one is found through the other.
# Usage: tools/wheel/stand_ins.sh FOLDER; FOLDER has what tools/wheel/recorders.sh made. Written there: torch-1.13-abi1/versioned/libc10.so, ...
set -euo pipefail
cc=$("$(dirname "$0")/toolchain.sh" "${OPDUMP_WHEEL_ARCH:-x86_64}")/bin/cc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

link() {  # link FILE NAME [LIBRARY]: a library without anything in it
  echo | "$cc" -shared -x c - -o "$1" -nostdlib -Wl,-s -Wl,-soname,"$2" -Wl,--no-as-needed ${3:+-x none "$3"}
}

for folder in "$1"/torch-*-abi1; do
  version=$(basename "$folder" | cut -d- -f2)
  mkdir -p "$folder/versioned"
  for name in libtorch_cpu.so libc10.so; do
    link "$work/$name.$version" "$name.$version"
    link "$folder/versioned/$name" "$name" "$work/$name.$version"
  done
done
