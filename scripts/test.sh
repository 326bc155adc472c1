#!/usr/bin/env bash
# Builds the project and runs its tests: packages, configuration, build (preset dev), ctest.
# Arguments go to ctest; the exit status is ctest's.
#
#   scripts/test.sh                    everything
#   scripts/test.sh -L unit            one ring: unit, laws, simulation, loopback, soak, e2e, browser
#   scripts/test.sh -R federation -V   by name, with all output
#   scripts/test.sh --rerun-failed     what failed last time
#   scripts/test.sh --help             this text

set -euo pipefail

case "${1:-}" in
  -h | --help)
    sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
cmake --preset dev
cmake --build --preset dev
# Without the time per label ctest closes with "100% tests passed, 0 tests failed out of N".
exec ctest --preset dev --output-on-failure --no-label-summary -j "$(nproc)" "$@"
