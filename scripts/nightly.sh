#!/usr/bin/env bash
# The long checks, for a night: every test under the address and undefined-behaviour sanitizers, those with
# threads under the thread sanitizer, the other compiler, clang-tidy, thousands of simulated federations, 200
# learners held over the network for minutes, hostile peers beside them, the dashboard's page beside 200 that move large
# models, real federations whose processes are killed, cut off and suspended hundreds of times, and a model of 3 GB.
# Goes on after a failure and ends with a table of stages; the exit status is 1 if any failed. Takes two to three hours
# on two cores; every stage by itself less than one.
#
#   scripts/nightly.sh                            all stages; the first seed follows from the date
#   scripts/nightly.sh --seeds=200                fewer simulated federations (default 5000)
#   scripts/nightly.sh --first-seed=202501310000  the seeds of another night
#   scripts/nightly.sh --only=asan,swarm          some stages: asan, tsan, clang, clang-tidy, swarm, soak, crash,
#                                                 large
#   scripts/nightly.sh --resume                   after an interruption: only the stages that have not passed yet on
#                                                 these very files (build/nightly.passed)
#   scripts/nightly.sh --help                     this text

set -euo pipefail

stages=(asan tsan clang clang-tidy swarm soak crash large)
seeds=5000
resume=false
passed=build/nightly.passed
# Nights share no seeds: ten thousand numbers belong to each date.
first_seed=$(date -u +%Y%m%d)0000

misused() {
  echo "nightly: $1: see scripts/nightly.sh --help" >&2
  exit 2
}

for argument in "$@"; do
  case "${argument}" in
    --seeds=*) seeds=${argument#*=} ;;
    --first-seed=*) first_seed=${argument#*=} ;;
    --only=*) IFS=, read -r -a stages <<<"${argument#*=}" ;;
    --resume) resume=true ;;
    -h | --help)
      sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) misused "unknown argument ${argument}" ;;
  esac
done
((${#stages[@]} > 0)) || misused "--only= names no stage"
[[ ${seeds} =~ ^[1-9][0-9]*$ ]] || misused "--seeds=${seeds} is not a positive number"
[[ ${first_seed} =~ ^[0-9]+$ ]] || misused "--first-seed=${first_seed} is not a number"

cd "$(dirname "${BASH_SOURCE[0]}")/.."

run_tests() { # preset, which leaves out what it cannot judge (CMakePresets.json, HACKING.md)
  cmake --preset "$1"
  cmake --build --preset "$1"
  ctest --preset "$1" --output-on-failure --no-label-summary -j "$(nproc)"
}

build_release() { # targets: what the stage runs, and no other tests
  cmake --preset release
  cmake --build --preset release --target "$@"
}

# Every source by itself and without precompiled headers, which shows that it includes what it uses.
configure_clang() { # directory
  cmake --preset dev -B "$1" -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DMETIS_JOIN_SOURCES=OFF
}

# All but the swarm, which is the same arithmetic again (golden values show that the bits are, too), and but what
# links libtorch, whose headers clang 14 refuses in C++20 with this standard library: it instantiates members of
# std::vector<c10::IValue> where IValue is incomplete. Tests of programs need those.
run_clang() {
  configure_clang build/clang
  cmake --build build/clang --target portable_tests
  ctest --test-dir build/clang -LE 'torch|simulation|e2e|browser|soak' --output-on-failure --no-label-summary \
    -j "$(nproc)"
}

run_clang_tidy() {
  # A configuration of its own: only the generated headers are built.
  configure_clang build/clang-tidy
  cmake --build build/clang-tidy --target metis_proto metis_proto_grpc
  # Not metis/train: see run_clang. Its count of warnings in other people's headers, which it does not show, is noise.
  find metis apps -name '*.cc' ! -name '*_test.cc' ! -path 'metis/train/*' -print0 | sort -z |
    xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/clang-tidy --quiet \
      2> >(grep -vE '^[0-9]+ warnings? generated\.$' >&2)
}

run_swarm() {
  build_release swarm_test
  build/release/tests/simulation/swarm_test "--seeds=${seeds}" "--first-seed=${first_seed}"
}

run_soak() {
  build_release programs soak_test status_load_test
  build/release/tests/soak/soak_test
  build/release/tests/soak/status_load_test build/release/bin --beside \
    node tests/browser/loaded_dashboard_test.mjs build/release/bin
}

run_crash() {
  build_release programs
  python3 tests/e2e/network_crash_test.py build/release/bin --full "--seed=${first_seed}"
}

# Beyond what a message, a length of 32 bits or one call of the kernel holds. Needs 20 GB of memory.
run_large() {
  build_release exchange_bench
  local free_kb
  free_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  if ((free_kb < 20000000)); then
    echo "nightly: ${free_kb} kB of memory are free, a model of 3 GB needs 20 GB" >&2
    return 1
  fi
  build/release/bench/exchange_bench --learners 1 --parameters 750000000 --rounds 3 --filter plain
}

# A name for what the working tree holds, committed or not. Nothing where git does not know these files.
name_tree() {
  git ls-files --error-unmatch scripts/nightly.sh &>/dev/null || return 0
  # A file that was removed and is still known to git changes the name by its absence.
  { git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null || true; } |
    sha256sum | cut -d ' ' -f 1
}

# What has to be the same for a stage to count as passed already. A night's own seeds are as good as another's.
name_stage() { # stage
  echo "${tree} $1$([[ $1 == swarm ]] && echo " ${seeds}")"
}

run_stage() { # stage
  case "$1" in
    asan | tsan) run_tests "$1" ;;
    clang) run_clang ;;
    clang-tidy) run_clang_tidy ;;
    swarm) run_swarm ;;
    soak) run_soak ;;
    crash) run_crash ;;
    large) run_large ;;
  esac
}

for stage in "${stages[@]}"; do
  case "${stage}" in
    asan | tsan | clang | clang-tidy | swarm | soak | crash | large) ;;
    *) misused "unknown stage ${stage}" ;;
  esac
done

tree=$(name_tree)
if [[ ${resume} == true && -z ${tree} ]]; then
  misused "--resume needs a git checkout, to know which files the stages passed on"
fi

echo "nightly: stages ${stages[*]}, ${seeds} seeds from ${first_seed}"
scripts/setup.sh

table=()
failed=0
for stage in "${stages[@]}"; do
  if [[ ${resume} == true ]] && grep -qsxF "$(name_stage "${stage}")" "${passed}"; then
    table+=("$(printf '%-12s %-7s %8s' "${stage}" ok earlier)")
    continue
  fi
  echo
  echo "nightly: ${stage}"
  started=${SECONDS}
  # In a subshell of its own and outside of any condition, so that its first failing command ends it.
  set +e
  (
    set -e
    run_stage "${stage}"
  )
  status=$?
  set -e
  verdict=ok
  if [[ ${status} -ne 0 ]]; then
    verdict=FAILED
    failed=1
  elif [[ -n ${tree} && $(name_tree) == "${tree}" ]]; then # nobody has edited it meanwhile
    mkdir -p "$(dirname "${passed}")"
    name_stage "${stage}" >>"${passed}"
  fi
  tenths=$(((SECONDS - started + 3) / 6))
  table+=("$(printf '%-12s %-7s %6d.%d' "${stage}" "${verdict}" $((tenths / 10)) $((tenths % 10)))")
done

echo
printf '%-12s %-7s %8s\n' stage result minutes
printf '%s\n' "${table[@]}"
exit "${failed}"
