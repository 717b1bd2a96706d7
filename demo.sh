#!/usr/bin/env bash
# The main job on real input: trains a small network on handwritten digits twice, the second time with another
# epsilon in one normalisation, dumps both runs and names the operator that went wrong.
set -euo pipefail
cd "$(dirname "$0")"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A wheel and a Python with what the example needs: nothing is compiled.
python=/usr/bin/python3
wheel=$(find dist -name "opdump-*_$(uname -m).whl" 2>/dev/null | head -1 || true)
if [ -n "$wheel" ] && [ ! -x build/release/bin/opdump ]; then
  for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import sklearn, torch' 2>/dev/null || continue
    python=$candidate
    opdump=$PWD/build/demo-wheel/opdump/bin/opdump
    rm -rf build/demo-wheel
    "$python" -m zipfile -e "$wheel" build/demo-wheel
    chmod +x "$opdump"
    break
  done
fi

# On a terminal one line shows how far the build is.
show_progress() {
  local line
  while IFS= read -r line; do
    if [ -t 2 ] && [[ "$line" == \[* ]]; then printf '\r\033[K== %.70s' "$line" >&2; fi
  done
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}
if [ -z "${opdump:-}" ]; then
  opdump=$PWD/build/release/bin/opdump
  [ -x "$opdump" ] || echo "== building, which takes some minutes the first time" >&2
  if ! ./build.sh opdump_cli opdump_python 2>&1 | tee "$log" | show_progress; then
    cat "$log" >&2
    exit 1
  fi
fi

work=${OPDUMP_DEMO_DIR:-$PWD/build/demo}
rm -rf "$work"
mkdir -p "$work"

for run in golden actual; do
  fault=none
  [ "$run" = actual ] && fault=epsilon
  echo "== training, $run run (fault: $fault)"
  DUMP_DIR=$work/$run "$opdump" run --config examples/digits/data_dump.json -- \
    "$python" examples/digits/train.py --steps 5 --fault "$fault"
done

echo "== comparing"
"$opdump" compare "$work/golden" "$work/actual" && status=0 || status=$?
# Where opdump was built without the page, it says so; the demonstration is complete all the same. The last line is enough:
# the others repeat the answer.
"$opdump" report "$work/golden" "$work/actual" -o "$work/report.html" | tail -1 || true
# A mismatch (1) is what this demonstration is about; anything else is a failure.
[ "$status" -eq 1 ]
