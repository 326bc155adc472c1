#!/usr/bin/env bash
# Shows the project at work: builds it (preset release) and lets ten learners train a network on Fashion-MNIST,
# in virtual time: five machines are ten times slower than the others, sizes follow a power law, and the largest
# learner's labels are wrong. Four policies side by side, a table, a report to open in a browser, and what is
# seen in it. About three minutes on two cores after the build. The runs are left in runs/demo.
# Arguments go to `metis simulate` and take the place of the ones used here.
#
#   scripts/demo.sh                    compare the policies
#   scripts/demo.sh --seed 7           the same with another seed
#   scripts/demo.sh --out runs/other   leave the runs elsewhere
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
use_default --policy sync-fedavg,async-fedavg,fedasync,async-dvw
use_default --dataset fashion-mnist
use_default --model mnist-cnn
use_default --precision auto
use_default --examples 4000
use_default --learners 10
use_default --slow 5
use_default --slowdown 10
use_default --sizes powerlaw
use_default --faulty 0:labels=random
use_default --duration 90s
use_default --out runs/demo
# Few examples: short cycles. Tests cost no virtual time, but real one.
arguments+=(--set trigger.local_epochs=2 --set test.every=3s --test-examples 2000)
[[ " ${arguments[*]} " == *" --out runs/demo "* ]] && arguments+=(--force) # its own runs may be replaced

out=
for index in "${!arguments[@]}"; do
  case "${arguments[index]}" in
    --out) out=${arguments[index + 1]} ;;
    --out=*) out=${arguments[index]#*=} ;;
  esac
done

scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target programs
PATH="${PWD}/build/release/bin:${PATH}"
metis data fetch fashion-mnist
metis simulate "${arguments[@]}"
echo
python3 scripts/demo_findings.py "${out}"
echo
metis report "${out}" --title "Ten learners, one with wrong labels" --out "${out}/report.html"
