#!/usr/bin/env bash
# Installs a wheel as a new user does, in a bare Debian that has Python and no compiler, and lets it record, compare and blame.
# Usage: tools/wheel/try_wheel.sh FILE SUITE [PACKAGE...]; as root. FILE: a wheel, a Debian package of one, or a source archive, which is
# tried in a system that has g++ and Python's headers. SUITE: bullseye, bookworm, trixie or forky. PACKAGEs are what is there before: torch==2.6.0, ...
# which pip installs, debian:NAME, which apt installs, or site:FOLDER, a folder of installed packages. The system is made once, by
# debootstrap, and kept in the cache of the user; for a wheel of another processor it runs by qemu-user-static. SUITE may also be `host`: a
# system of the packages of this machine (tools/wheel/host_root.py), which takes seconds and no network, and is not kept. Prints how long
# the first answer took. Ends with status 3, and says why, where no such system can be had.
set -euo pipefail
wheel=$(realpath "$1") suite=$2
shift 2
skip() { echo "try_wheel.sh: no system for $suite: $1" >&2 && exit 3; }
[ "$(id -u)" -eq 0 ] || skip "only root makes and enters one"
root=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/bare/$suite
architecture=$(dpkg --print-architecture)
case $wheel in
  *_aarch64.whl | *_arm64.deb) architecture=arm64 root=$root-arm64 ;;
  *.tar.gz) root=$root-sources ;;
esac
if [ "$suite" = host ]; then
  root=$(mktemp -d)
  trap 'rm -rf --one-file-system "$root"' EXIT
  packages=(python3 python3-pip)
  for word in "$@"; do
    case $word in debian:*) packages+=("${word#debian:}") ;; esac
  done
  "$(dirname "$0")/host_root.py" "$root" "$wheel" "${packages[@]}"
elif [ ! -e "$root/complete" ]; then
  command -v debootstrap >/dev/null || skip "debootstrap makes it, and is not installed"
  rm -rf "$root"
  mkdir -p "$(dirname "$root")"
  script=/usr/share/debootstrap/scripts/$suite
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid  # a suite that is newer than debootstrap
  debootstrap --arch="$architecture" --variant=minbase --include=python3-venv,ca-certificates "$suite" "$root" http://deb.debian.org/debian \
    "$script" >"$root.log" 2>&1 || skip "debootstrap failed: $(tail -n 1 "$root.log")"
  touch "$root/complete"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc"
[ "$suite" = host ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"  # a proxy may have its own
rm -rf "$root/try"
mkdir -p "$root/try" "$root/site"
site=
for word in "$@"; do
  case $word in site:*) site=$(realpath "${word#site:}") ;; esac
done
cp "$wheel" "$root/try"
cat >"$root/try/train.py" <<'END'
import sys

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.BatchNorm2d(8, eps=float(sys.argv[1])), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(torch.randn(16, 1, 8, 8)), torch.randint(10, (16,)))
    loss.backward()
    optimizer.step()
END
cat >"$root/try/run.sh" <<'END'
set -euo pipefail
cd /try
. /etc/os-release
debian=() packages=() has_site=
for word in "$@"; do
  case $word in debian:*) debian+=("${word#debian:}") ;; site:*) has_site=1 ;; *) packages+=("$word") ;; esac
done
export DEBIAN_FRONTEND=noninteractive
! dpkg-query -W opdump >/dev/null 2>&1 || dpkg --purge opdump >/dev/null
file=$(echo /try/opdump[-_]*)
case $file in *.tar.gz) debian+=(g++ python3-dev) ;; esac
pip() { python -m pip "$@"; }
if [ "$SUITE" = host ]; then  # its packages are there, and Debian's venv may lack what brings pip
  debian=() with_pip=--without-pip
  export PIP_NO_INDEX=1
fi
[ ${#debian[@]} -eq 0 ] || apt-get install -y -qq --no-install-recommends "${debian[@]}" >/dev/null 2>&1
python3 -m venv --system-site-packages ${with_pip:-} venv
. venv/bin/activate
[ -z "$has_site" ] || echo /site >"$(echo venv/lib/python3*/site-packages)/site.pth"
[ ${#packages[@]} -eq 0 ] || pip install -q "${packages[@]}"
torch=$(python -c 'import torch; print(torch.__version__)' 2>/dev/null || true)
what="$PRETTY_NAME, Python $(python -c 'import platform; print(platform.python_version())'), torch ${torch:-none}"

case $file in
  *.tar.gz) ;;
  *) ! command -v cc && ! command -v c++ && ! command -v clang++ || exit 1 ;;
esac

begin=$(date +%s%N)
milliseconds() { echo $((($(date +%s%N) - begin) / 1000000)); }
case $file in
  *.deb) apt-get install -y -qq --no-install-recommends "$file" >/dev/null ;;
  *) pip install -q "$file" ;;
esac
installed=$(milliseconds)
opdump --version
if [ -n "$torch" ]; then
  opdump run -o golden -- python train.py 1e-5
  opdump run -o actual -- python train.py 1e-3
  opdump compare golden actual | tee answer && exit 1 || [ $? -eq 1 ]
  echo "== $what: installed after $installed ms, the first answer after $(milliseconds) ms"
  grep -q '^first bad operator: .*native_batch_norm.* eps is 1e-05 in golden and 0.001 in actual' answer
  opdump blame golden actual | tee answer || [ $? -eq 1 ]
  grep -q native_batch_norm answer
  opdump report golden actual -o report.html
  python -c "import opdump; print(opdump.compare('golden', 'actual').first_bad)"
  python - <<'CHECK'
import json, pathlib, re, torch

said = {json.loads(path.read_text())["runtime"] for path in pathlib.Path("golden").rglob("opdump_status.json")}
assert said == {"torch " + re.match(r"[\d.]+\d", torch.__version__)[0]}, f"{said} with torch {torch.__version__}"
CHECK
  opdump doctor
else
  echo "== $what: installed after $installed ms, opdump answers after $(milliseconds) ms"
  opdump doctor || true
fi
python -m opdump --version >/dev/null
package=$(python -c 'import opdump; print(opdump.__path__[0])')
ldd "$package/bin/opdump"

# Without a recorder, and without a compiler to build one, the recorder in Python records, or a program that imports torch does not
# begin. Another one runs.
[ -n "$torch" ] || exit 0
[ -d "$package/_torch/prebuilt" ] || exit 0
mv "$package/_torch/prebuilt" elsewhere
export OPDUMP_CACHE=/try/cache
if python -c 'import torch; torch.library.Library.fallback' 2>/dev/null; then
  opdump run -o in_python -- python train.py 1e-5
  opdump compare golden in_python
  exit
fi
status=0
opdump run -o none -- python -c 'open("begun", "w"); import torch' || status=$?
if [ "$status" -ne 2 ] || [ -e begun ] || [ -e none ]; then
  echo "without a recorder: status $status, $(ls -d begun none 2>/dev/null || true)"
  exit 1
fi
opdump run -o none -- python -c 'print("a program without torch runs")'
opdump run -o unrecorded --best-effort -- python train.py 1e-5
END
unshare --mount --pid --fork -- bash -euo pipefail -c '
  mount -t proc proc "$0/proc"
  mount --rbind /dev "$0/dev"
  site=$1
  shift
  [ "$1" != host ] || { mount --bind "$0/usr" "$0/usr" && mount -o remount,bind,ro "$0/usr"; }
  export SUITE=$1
  shift
  [ -z "$site" ] || mount --bind -o ro "$site" "$0/site"
  exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 SUITE="$SUITE" \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 bash /try/run.sh "$@"' "$root" "$site" "$suite" "$@"
