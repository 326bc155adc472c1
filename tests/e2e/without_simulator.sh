#!/usr/bin/env bash
# Says whether code of the simulator is linked into a program: it fails if it is. The simulator's settings, which a
# configuration has, are no code of its own.
#
#   without_simulator.sh PROGRAM

set -euo pipefail

symbols=$(nm -C --defined-only "$1")
# A program whose symbols cannot be read would pass as well.
if ! grep ' T metis::federation::Controller::' <<< "${symbols}" > /dev/null; then
  echo "without_simulator.sh: $1 has no controller: is it the program that was meant?" >&2
  exit 1
fi
if grep -m 5 ' T metis::sim::' <<< "${symbols}"; then
  echo "without_simulator.sh: $1 links the simulator" >&2
  exit 1
fi
