#!/usr/bin/env bash
# Shows the project at work: builds it (preset release) and lets ten learners train a network on Fashion-MNIST,
# in virtual time: five machines are ten times slower than the others, sizes follow a power law, and the largest
# learner's labels are wrong. Four policies side by side, a table, a report to open in a browser, and what is
# seen in it. About three minutes on two cores after the build. The runs are left in runs/demo.
# Arguments go to `metis simulate` and take the place of the ones used here.
#
#   scripts/demo.sh                    compare the policies
#   scripts/demo.sh --seed 7           the same with another seed
#   scripts/demo.sh --out runs/other   leave the runs elsewhere; with --force in place of others
#   scripts/demo.sh --help             this text

set -euo pipefail

for word in "$@"; do
  if [[ ${word} == -h || ${word} == --help ]]; then
    sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
  fi
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Few examples: short cycles. Tests cost no virtual time, but real one. The last --set of a key counts.
arguments=(--set trigger.local_epochs=2 --set test.every=3s "$@")
is_given() { # option
  local word
  for word in "${arguments[@]}"; do
    [[ ${word} == "$1" || ${word} == "$1="* ]] && return
  done
  return 1
}
use_default() { # option value: unless the option was given
  is_given "$1" || arguments+=("$1" "$2")
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
use_default --test-examples 2000

out=
policy=
before=
kept=() # all but --out
for word in "${arguments[@]}"; do
  pair=${before}=${word}
  before=${word}
  if [[ ${word} == --*=* ]]; then
    pair=${word}
    before=
  fi
  case "${pair}" in
    --out=*) out=${pair#*=} ;;
    --policy=*) policy=${pair#*=} ;;
    --dataset=builtin | --trainer=* | --set=data.dataset=builtin | --set=data.dataset=\"builtin\")
      echo "demo: it is about wrong labels among images, and built-in data have neither: name another data set, or" \
        "run metis simulate --dataset builtin" >&2
      exit 2
      ;;
  esac
  [[ ${word} == --out || ${pair} == --out=* ]] || kept+=("${word}")
done
if [[ -z ${out} || ${out} == --* ]]; then
  echo "demo: --out needs a directory: --out runs/other" >&2
  exit 2
fi
# Its own runs may be replaced. That of a single policy lies beside those of others, as theirs do.
if [[ ${out%/} == runs/demo ]] && ! is_given --force; then kept+=(--force); fi
target=${out%/}
policy=${policy%,} # which metis takes for one policy
[[ ${policy} == *,* || ${policy} == all ]] || target+=/${policy}

scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target programs
PATH="${PWD}/build/release/bin:${PATH}"
metis data fetch fashion-mnist
begun=$(mktemp)
trap 'rm -f "${begun}"' EXIT
metis simulate "${kept[@]}" --out "${target}"
# Runs of an earlier call may lie beside them.
mapfile -t runs < <(find -H "${out}" -maxdepth 2 -name summary.json -newer "${begun}" -printf '%h\n' | LC_ALL=C sort)
echo
python3 scripts/demo_findings.py "${runs[@]}"
echo
metis report "${runs[@]}" --title "Ten learners, one with wrong labels" --out "${out}/report.html"
