#!/usr/bin/env bash
# Shows the project at work: builds it (preset release) and compares every policy on a simulated
# federation, with the built-in trainer: ten learners, half of them ten times slower, with sizes by a
# power law and few classes each, for 20 virtual minutes. The runs are left in runs/demo.
# Arguments go to `metis simulate` and take the place of the ones used here.
#
#   scripts/demo.sh                    compare all policies
#   scripts/demo.sh --seed 7           the same with another seed
#   scripts/demo.sh --out runs/other   leave the run elsewhere
#   scripts/demo.sh --help             this text

set -euo pipefail

case "${1:-}" in
  -h | --help)
    sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

arguments=("$@")
use_default() { # option value: unless the option was given
  local given
  for given in "${arguments[@]}"; do
    [[ ${given} == "$1" || ${given} == "$1="* ]] && return
  done
  arguments+=("$1" "$2")
}
use_default --dataset builtin
use_default --policy all
use_default --sizes powerlaw
use_default --classes noniid:8x1,4x1,3x8
use_default --duration 20min
use_default --out runs/demo
[[ " ${arguments[*]} " == *" runs/demo "* ]] && arguments+=(--force) # its own runs may be replaced

scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release
exec build/release/bin/metis simulate "${arguments[@]}"
