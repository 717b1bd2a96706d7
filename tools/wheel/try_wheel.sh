#!/usr/bin/env bash
# Installs a wheel as a new user does, in a bare Debian that has Python and no compiler, and lets it record, compare and blame.
# Usage: tools/wheel/try_wheel.sh WHEEL SUITE [PACKAGE...]; as root. SUITE: bullseye, bookworm or trixie. PACKAGEs are what pip
# installs besides: torch==2.6.0, ... or debian:NAME, which apt installs. The system is made once, by debootstrap, and kept in the cache of the user.
set -euo pipefail
wheel=$(realpath "$1") suite=$2
shift 2
root=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/bare/$suite
if [ ! -e "$root/complete" ]; then
  rm -rf "$root"
  mkdir -p "$(dirname "$root")"
  debootstrap --variant=minbase --include=python3-venv,ca-certificates "$suite" "$root" http://deb.debian.org/debian >"$root.log"
  touch "$root/complete"
fi
cp /etc/resolv.conf /etc/hosts "$root/etc"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"  # a proxy may have its own
rm -rf "$root/try"
mkdir -p "$root/try"
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
! command -v cc && ! command -v g++ && ! command -v clang
debian=() packages=()
for word in "$@"; do
  case $word in debian:*) debian+=("${word#debian:}") ;; *) packages+=("$word") ;; esac
done
[ ${#debian[@]} -eq 0 ] || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${debian[@]}" >/dev/null 2>&1
python3 -m venv --system-site-packages venv
. venv/bin/activate
[ ${#packages[@]} -eq 0 ] || pip install -q "${packages[@]}"
begin=$(date +%s%N)
pip install -q opdump-*.whl
opdump --version
python -m opdump --version >/dev/null
if python -c 'import torch' 2>/dev/null; then
  opdump run -o golden -- python train.py 1e-5
  opdump run -o actual -- python train.py 1e-3
  opdump compare golden actual && exit 1 || [ $? -eq 1 ]
  echo "first answer after $((($(date +%s%N) - begin) / 1000000)) ms"
  opdump blame golden actual || [ $? -eq 1 ]
  opdump report golden actual -o report.html
  python -c "import opdump; print(opdump.compare('golden', 'actual').first_bad)"
else
  echo "answers after $((($(date +%s%N) - begin) / 1000000)) ms, without torch"
  opdump run -o golden -- python -c 'print(1)'
fi
opdump doctor || true
END
exec unshare --mount --pid --fork -- bash -euo pipefail -c '
  mount -t proc proc "$0/proc"
  mount --rbind /dev "$0/dev"
  exec chroot "$0" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 bash /try/run.sh "$@"' "$root" "$@"
