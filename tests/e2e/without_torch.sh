#!/usr/bin/env bash
# Says whether a program links libtorch: it fails if it does.
#
#   without_torch.sh PROGRAM

set -euo pipefail

libraries=$(ldd "$1")
if ! grep -q libgrpc <<< "${libraries}"; then
  echo "without_torch.sh: $1 links no gRPC: is it the program that was meant?" >&2
  exit 1
fi
if grep -E 'libtorch|libc10' <<< "${libraries}"; then
  echo "without_torch.sh: $1 links libtorch" >&2
  exit 1
fi
