#!/usr/bin/env bash
# Measures the kernels, the community model, local training and the exchange of models against the
# limits of this machine:
# builds the benchmarks (preset release), runs them interleaved and prints ratios, each with its goal.
# Times wander between machines and runs, ratios of one run much less. Takes ten minutes and 7 GB of
# memory; wants an otherwise idle machine. A goal missed is reported as "over"; the exit status is 0
# unless a benchmark failed to build or run, or with --strict 3 if a goal was missed. A group whose limit
# the filter leaves out is left out and named; with --strict the exit status is then 1.
#
#   scripts/bench.sh                    the table
#   scripts/bench.sh --json             the same for machines, on standard output
#   scripts/bench.sh --strict           a goal that is missed fails
#   scripts/bench.sh --repetitions 3    quicker, and less sure (default: 15)
#   scripts/bench.sh --filter average   only benchmarks whose name matches; of training: mnist-cnn,
#                                       cifar10-cnn, femnist-cnn, fp32, bf16; simulation;
#                                       exchange
#   scripts/bench.sh --help             this text
#
# The table reads like this: ratio to the limit, then the goal.
#   average 10 x 10M   avx512    1.12  (goal 1.35)

set -euo pipefail

fail() {
  echo "bench: $1 (see scripts/bench.sh --help)" >&2
  exit 2
}

repetitions=15
filter=.
report=()
while (($#)); do
  case "$1" in
    -h | --help)
      sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    --json | --strict) report+=("$1") ;;
    --repetitions)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || fail "--repetitions needs a number, not \"${2:-}\""
      repetitions=$2
      shift
      ;;
    --filter)
      [[ -n ${2:-} ]] || fail "--filter needs a pattern"
      filter=$2
      shift
      ;;
    *) fail "unknown option \"$1\"" ;;
  esac
  shift
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."

{
  scripts/setup.sh
  cmake --preset release
  cmake --build --preset release --target kernels_bench community_bench train_bench exchange_bench metis-simulate metis-data metis
} >&2

results=$(mktemp -d)
trap 'rm -rf "${results}"' EXIT
for name in kernels community train; do
  echo "bench: running ${name}_bench, ${repetitions} repetitions" >&2
  # Random interleaving: a slow minute of the machine hits all cases alike.
  "build/release/bench/${name}_bench" \
    --benchmark_filter="${filter}" \
    --benchmark_repetitions="${repetitions}" \
    --benchmark_enable_random_interleaving=true \
    --benchmark_out="${results}/${name}.json" --benchmark_out_format=json >&2
done
# Debian's python is the one that may have torch. A filter that leaves out training leaves out this.
if [[ -s ${results}/train.json ]] && /usr/bin/python3 -c 'import torch' 2>/dev/null; then
  echo "bench: running train_bench.py, ${repetitions} repetitions" >&2
  /usr/bin/python3 bench/train_bench.py --filter "${filter}" --repetitions "${repetitions}" \
    >"${results}/train_python.json"
fi
if [[ simulation =~ ${filter} ]]; then
  build/release/bin/metis data fetch fashion-mnist >&2
  echo "bench: running simulate_bench.py, 3 repetitions" >&2
  python3 bench/simulate_bench.py build/release >"${results}/simulate.json"
fi
if [[ ${filter} =~ exchange || "exchange plain" =~ ${filter} ]]; then
  echo "bench: running exchange_bench, 3 repetitions" >&2
  for repetition in 1 2 3; do
    build/release/bench/exchange_bench --rounds 9 --filter "${filter}" >"${results}/exchange${repetition}.json"
  done
fi
python3 scripts/bench_report.py "${report[@]}" "${results}"/*.json
