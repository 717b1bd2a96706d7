#!/usr/bin/env bash
# What a wheel is built with, in a folder that it prints: a compiler for an old glibc (ziglang of PyPI), the tools that look
# at wheels, and static libraries. Made once, kept in the cache of the user. Takes Debian's packages of setup.sh for granted.
# Usage: tools/wheel/toolchain.sh [ARCHITECTURE]: x86_64, which is the default, or aarch64. Either is built for on any machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
arch=${1:-x86_64}
case $arch in
  x86_64) debian=amd64 cpu=x86_64 ;;
  aarch64) debian=arm64 cpu=generic ;;
  *) echo "toolchain.sh: no wheel is built for $arch" >&2 && exit 2 ;;
esac
glibc=2.28  # manylinux_2_28
packages=(ziglang==0.17.1 auditwheel==6.8.2 pybind11==3.1.0)
key=$(cat "$here/toolchain.sh" "$here/libraries.txt" | sha256sum | cut -c1-12)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/wheel/$key-$arch
if [ -e "$folder/complete" ]; then
  echo "$folder"
  exit
fi
echo "toolchain.sh: preparing $folder" >&2
rm -rf "$folder"
mkdir -p "$folder"/{bin,include,lib/pkgconfig,lib/cmake/simdjson,src}

python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip --quiet install "${packages[@]}" >&2
zig=$(echo "$folder"/venv/lib/python3*/site-packages/ziglang/zig)
for tool in cc c++ ar ranlib; do
  # Without -fno-sanitize zig makes undefined behaviour a trap. Its own flags for CPUs would exclude old ones.
  flags=
  case $tool in cc | c++) flags="-target $arch-linux-gnu.$glibc -mcpu=$cpu -fno-sanitize=undefined -isystem $folder/include" ;; esac
  printf '#!/bin/sh\nexec %s %s %s "$@"\n' "$zig" "$tool" "$flags" >"$folder/bin/$tool"
  chmod +x "$folder/bin/$tool"
done
export PATH=$folder/bin:$PATH

# Libraries of headers alone, as the system has them.
for headers in nlohmann CLI hwy protozero hdf5/serial xxhash.h; do
  [ -e "/usr/include/$headers" ] || headers=$(gcc -dumpmachine)/$headers
  cp -rL "/usr/include/$headers" "$folder/include/"
done
mv "$folder"/include/serial/* "$folder/include"
rmdir "$folder/include/serial"

for name in hwy::hwy nlohmann_json::nlohmann_json CLI11::CLI11; do
  package=${name%%:*}
  mkdir "$folder/lib/cmake/$package"
  cat >"$folder/lib/cmake/$package/${package}Config.cmake" <<END
add_library($name INTERFACE IMPORTED)
set_target_properties($name PROPERTIES INTERFACE_INCLUDE_DIRECTORIES $folder/include)
END
done

# The others, from their sources; and the libstdc++ of Debian 11, which PyTorch's recorders are built with.
fetch() {
  local name file hash
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
  local archive="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian"
  printf '%s bookworm main\n' "deb-src $archive" "deb $archive" >"$folder/apt/sources.list"
  printf '%s bullseye main\n' "deb $archive" >>"$folder/apt/sources.list"
  local apt=(-o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache"
    -o Dir::State::status=/dev/null -o "APT::Architecture=$debian" -o "APT::Architectures=$debian")
  apt-get "${apt[@]}" -qq update >&2
  cd "$folder/src"
  while read -r name file hash; do
    case $name in '' | '#'*) continue ;; esac
    case $file in
      *"_$debian.deb")
        apt-get "${apt[@]}" -qq download "$name" >&2 2>/dev/null
        echo "$hash  $file" | sha256sum --check --quiet >&2
        dpkg -x "$file" "$folder/gcc"
        ;;
      *.deb) ;;
      *)
        apt-get "${apt[@]}" -qq source --download-only "$name" >&2 2>/dev/null
        echo "$hash  $file" | sha256sum --check --quiet >&2
        mkdir "$name"
        tar -xf "$file" -C "$name" --strip-components 1
        ;;
    esac
  done <"$here/libraries.txt"
}
fetch

archive() {  # archive NAME OBJECT...
  ar rcs "$folder/lib/lib$1.a" "${@:2}"
}
cd "$folder/src/simdjson/singleheader"
c++ -std=c++17 -O2 -DNDEBUG -fPIC -w -c simdjson.cpp
archive simdjson simdjson.o
cp simdjson.h "$folder/include"
cat >"$folder/lib/cmake/simdjson/simdjsonConfig.cmake" <<END
add_library(simdjson::simdjson STATIC IMPORTED)
set_target_properties(simdjson::simdjson PROPERTIES IMPORTED_LOCATION $folder/lib/libsimdjson.a)
END

cd "$folder/src/re2"
mkdir objects
printf '#include "%s"\n' util/rune.cc util/strutil.cc >support.cc
printf '%s\n' re2/*.cc support.cc | xargs -P "$(nproc)" -I{} sh -c 'c++ -std=c++17 -O2 -DNDEBUG -fPIC -w -I. -c {} -o objects/$(basename {} .cc).o'
# Debian's source lacks the tables that are generated of Unicode's data; its static library has them, and they are nothing but data.
(cd objects && ar x "$folder/gcc/usr/lib/$arch-linux-gnu/libre2.a" perl_groups.o unicode_casefold.o unicode_groups.o)
archive re2 objects/*.o
mkdir "$folder/include/re2"
cp re2/*.h "$folder/include/re2"
printf 'Name: re2\nDescription: re2\nVersion: 10\nLibs: %s/lib/libre2.a\nCflags:\n' "$folder" >"$folder/lib/pkgconfig/re2.pc"

cd "$folder/src/cpp-httplib"
python3 ./split.py >/dev/null
c++ -std=c++17 -O2 -DNDEBUG -fPIC -w -c out/httplib.cc
archive cpp-httplib httplib.o
cp out/httplib.h "$folder/include"

cd "$folder/src/sqlite3"
(CC=/usr/bin/cc ./configure --disable-tcl && make sqlite3.c) >"$folder/sqlite3.log" 2>&1
cc -O2 -DNDEBUG -fPIC -w -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_MATH_FUNCTIONS -c sqlite3.c
archive sqlite3 sqlite3.o
cp sqlite3.h "$folder/include"

cd "$folder/src/zlib"
cc -O2 -DNDEBUG -fPIC -w -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -c ./*.c
archive z ./*.o
cp zlib.h zconf.h "$folder/include"

# What a wheel says of others' work in it.
mkdir "$folder/licences"
for package in nlohmann-json3-dev libcli11-dev libhwy-dev libprotozero-dev libxxhash-dev; do
  cp "/usr/share/doc/$package/copyright" "$folder/licences/${package%-dev}"
done
cp "$folder/src/simdjson/LICENSE" "$folder/licences/simdjson"
cp "$folder/src/re2/LICENSE" "$folder/licences/re2"
cp "$folder/src/cpp-httplib/LICENSE" "$folder/licences/cpp-httplib"
cp "$folder/src/sqlite3/LICENSE.md" "$folder/licences/sqlite"
sed -n '/Copyright notice:/,$p' "$folder/src/zlib/README" >"$folder/licences/zlib"
cp "${zig%/zig}/lib/libcxx/LICENSE.TXT" "$folder/licences/libc++"
cp "$(echo "$folder"/venv/lib/python3*/site-packages/pybind11-*.dist-info/licenses/LICENSE)" "$folder/licences/pybind11"
rm -rf "$folder/src" "$folder/apt" "$folder/gcc/usr/share"
touch "$folder/complete"
echo "$folder"
