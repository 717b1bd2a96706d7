#!/usr/bin/env bash
# Builds the recorders of a wheel: one library for each PyTorch of torch_versions.txt, and one small module for each Python.
# Usage: tools/wheel/recorders.sh FOLDER PYTHON..., for OPDUMP_WHEEL_ARCH or x86_64. OPDUMP_WHEEL_TORCHES="2.6.0 1.13.1" names some of the
# releases in the list, for a wheel that is to be tried.
#
# Written to FOLDER: torch-2.6-abi1/libopdump_torch.so, ..., and recorder.cpython-311-x86_64-linux-gnu.so, ...
# Headers come from PyPI's builds, which are fetched once. Nothing of PyTorch or of opdump is needed to link: a program that is
# recorded has their libraries loaded. The recorders use the libstdc++ that PyTorch itself uses, of which the headers of gcc 10 know no more
# than programs on old systems have; check_wheel.py looks at what they need.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "$1")
shift
arch=${OPDUMP_WHEEL_ARCH:-x86_64}
tools=$("$here/toolchain.sh" "$arch")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/wheel
adapter=$here/../../adapters/torch
rm -rf "$out"  # a wheel has no recorder of an earlier one
mkdir -p "$out" "$cache/headers"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Libraries that stand for those that are loaded then.
for name in libtorch_cpu.so libc10.so libopdump.so.0 libopdump_torch.so; do
  echo | "$tools/bin/cc" -shared -x c - -o "$work/$name" -Wl,-soname,"$name"
done

fetch_headers() {  # fetch_headers VERSION: prints where they are
  local target=$cache/headers/$1-$arch wheel python
  if [ ! -e "$target/complete" ]; then
    echo "recorders.sh: fetching the headers of torch $1" >&2
    rm -rf "$target"
    mkdir -p "$target/download"
    for python in 3.11 3.10; do  # for aarch64, 1.13 has none for 3.11; the headers are the same for every Python
      ! "$tools/venv/bin/python" -m pip --quiet download --no-deps --only-binary=:all: --python-version $python --platform "manylinux_2_28_$arch" \
        --platform "manylinux2014_$arch" --platform "manylinux1_$arch" --dest "$target/download" "torch==$1" >&2 || break
    done
    wheel=$(echo "$target"/download/*.whl)
    "$tools/venv/bin/python" - "$wheel" "$target" <<'END'
import sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.startswith("torch/include/")])
END
    rm -rf "$target/download"
    touch "$target/complete"
  fi
  echo "$target/torch/include"
}

# As -I: libstdc++ includes those of libc after its own. Messages of torch's checks name files: not by where they are on this machine.
flags=(-std=c++20 -O2 -DNDEBUG -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -w -nostdinc++
  -fmacro-prefix-map="$adapter/=adapters/torch/" -fmacro-prefix-map="$cache/headers/=" -fmacro-prefix-map="$tools/=" -fmacro-prefix-map="$work/="
  -I"$adapter" -I"$adapter/include" -I"$adapter/../common" -I"$adapter/../../include" -I"$here/libstdcxx"
  -I"$tools/gcc/usr/include/c++/10" -I"$tools/gcc/usr/include/$arch-linux-gnu/c++/10" -I"$tools/gcc/usr/include/c++/10/backward")
compiler=("$tools/bin/c++")
if command -v ccache >/dev/null; then
  compiler=(env CCACHE_COMPILERTYPE=clang ccache "$tools/bin/c++")
fi

# All sources are compiled at once, as torch's headers cost most of the time.
(cd "$adapter" && find . -name '*.cc' ! -name '*_test.cc' ! -path './python/*' | sort) | sed "s|^\./\(.*\)|#include \"$adapter/\1\"|" >"$work/recorder.cc"

for python in "$@"; do
  include=$("$python" -c "import sysconfig; print(sysconfig.get_path('include'))")
  suffix=$("$python" -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
  module=$out/recorder${suffix/$(uname -m)/$arch}
  printf '#include "%s"\n' "$adapter"/python/*.cc >"$work/python.cc"
  "${compiler[@]}" "${flags[@]}" -isystem "$include" -c "$work/python.cc" -o "$work/python.o"
  "$tools/bin/c++" -shared -nostdlib++ -o "$module" "$work/python.o" -Wl,-s \
    -Wl,--no-as-needed "$work/libopdump_torch.so" "$work/libopdump.so.0" "$tools/gcc/usr/lib/$arch-linux-gnu/libstdc++.so.6"
done

# They are kept: of the same sources, the next wheel takes the same, unless OPDUMP_NEW_RECORDERS is set.
built=$cache/recorders/$arch-$(cat "$here/recorders.sh" "$here"/libstdcxx/* <(cd "$adapter/../.." && find adapters/torch adapters/common include -type f ! -path '*/python/*' | sort | xargs cat) | sha256sum | cut -c1-12)
# compile NAME HEADERS ABI: the recorder, from headers of one torch alone.
compile() {
  local name=$1 headers=$2 abi=$3 source
  echo "recorders.sh: $name" >&2
  mkdir -p "$work/$name" "$built/$name"
  for source in "$work/recorder.cc" "$here/libstdcxx/since_gcc9.cc"; do
    "${compiler[@]}" "${flags[@]}" -D_GLIBCXX_USE_CXX11_ABI="$abi" -isystem "$headers" -isystem "$headers/torch/csrc/api/include" \
      -c "$source" -o "$work/$name/$(basename "$source" .cc).o" -MD
  done
  if cat "$work/$name"/*.d | tr ' ' '\n' | grep -E '^/.*/include/(ATen|c10|torch)/' | grep -qv "^$headers/"; then
    echo "recorders.sh: $name was built with headers of another torch" >&2
    return 1
  fi
  "$tools/bin/c++" -shared -nostdlib++ -o "$work/$name/libopdump_torch.so" "$work/$name"/*.o -Wl,-soname,libopdump_torch.so -Wl,-s \
    -Wl,--version-script="$adapter/opdump_torch.map" -Wl,--no-as-needed "$work/libopdump.so.0" "$work/libtorch_cpu.so" "$work/libc10.so" \
    "$tools/gcc/usr/lib/$arch-linux-gnu/libstdc++.so.6"
  mv "$work/$name/libopdump_torch.so" "$built/$name"
}

names=()
while read -r version abis; do
  case $version in '' | '#'*) continue ;; esac
  case " ${OPDUMP_WHEEL_TORCHES:-$version} " in *" $version "*) ;; *) continue ;; esac
  headers=
  for abi in $abis; do
    name=torch-${version%.*}-abi$abi
    names+=("$name")
    [ -z "${OPDUMP_NEW_RECORDERS:-}" ] && [ -e "$built/$name/libopdump_torch.so" ] && continue
    [ -n "$headers" ] || headers=$(fetch_headers "$version")
    while [ "$(jobs -rp | wc -l)" -ge "${OPDUMP_JOBS:-$(nproc)}" ]; do wait -n || true; done
    compile "$name" "$headers" "$abi" &
  done
done <"$here/torch_versions.txt"
wait
for name in "${names[@]}"; do
  mkdir -p "$out/$name"
  cp "$built/$name/libopdump_torch.so" "$out/$name"  # ends here if it was not built
done
