#!/usr/bin/env bash
# without_simulator.sh PROGRAM: fails if code of the simulator is linked into it. Its settings are not code.
set -euo pipefail

found=$(nm -C --defined-only "$1" | grep -E ' metis::sim::[A-Za-z]+::' || true)
if [[ -n "${found}" ]]; then
  echo "$1 links the simulator, for instance:" >&2
  head -n 5 <<<"${found}" >&2
  exit 1
fi
# A program whose symbols cannot be read would pass as well.
nm -C --defined-only "$1" | grep -q ' metis::federation::Controller::'
