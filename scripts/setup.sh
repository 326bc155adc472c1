#!/usr/bin/env bash
# Installs what the project is built and tested with: Debian's packages (Debian 12), and the libraries of the
# pages in web/ from npm, as web/package-lock.json names them. Does nothing, and needs no network, where
# everything is already installed.
#
#   scripts/setup.sh            install what is missing, as root or with sudo
#   scripts/setup.sh --help     this text

set -euo pipefail

packages=(
  # tools
  g++ cmake ninja-build clang clang-format clang-tidy python3
  # tests and benchmarks
  libgtest-dev libgmock-dev libbenchmark-dev
  # command line, configuration, JSON, checksums
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev
  # data files
  zlib1g-dev libpng-dev
  # network, durable state, certificates, compression
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libsqlite3-dev libssl-dev openssl libzstd-dev
  # dashboard and metrics
  libcpp-httplib-dev prometheus-cpp-dev
  # training; libtorch brings only the reference implementation of the linear algebra that it needs,
  # which is many times slower (OpenBLAS without threads is no choice: it computes wrong values when two
  # threads use it); Python's torch checks that models go there and back
  libtorch-dev libopenblas0-pthread python3-torch
  # real images for tests and demo
  dataset-fashion-mnist
  # tests of the pages in web/, and of two machines in one
  chromium iproute2
)
# The pages are bundled with Node.js: Debian's, unless there is another one already.
command -v npm >/dev/null || packages+=(nodejs npm)

list_missing() {
  local installed package
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
  for package in "${packages[@]}"; do
    grep -qxF "installed ${package}" <<<"${installed}" || echo "${package}"
  done
}

fail() {
  echo "setup: $1" >&2
  echo "setup: missing packages: ${missing[*]}" >&2
  echo "setup: to install them by hand: apt-get update && apt-get install ${missing[*]}  (as root)" >&2
  exit 1
}

case "${1:-}" in
  "") ;;
  -h | --help)
    sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  *)
    echo "setup: unknown argument $1: see scripts/setup.sh --help" >&2
    exit 2
    ;;
esac

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    missing=("${packages[@]}")
    fail "this is not a Debian system: install the counterparts of these packages"
  fi
  mapfile -t missing < <(list_missing)
  if [[ ${#missing[@]} -eq 0 ]]; then
    echo "setup: all ${#packages[@]} packages are installed"
    return
  fi

  local as_root=()
  if [[ ${EUID} -ne 0 ]]; then
    command -v sudo >/dev/null || fail "packages are missing, and there is neither root nor sudo to install them"
    as_root=(sudo)
  fi

  echo "setup: installing ${missing[*]}"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
    -o Acquire::Retries=2 -o DPkg::Lock::Timeout=120)
  # A list that cannot be refreshed is no failure in itself: the packages may be in the cache.
  "${apt[@]}" update >>"${log}" 2>&1 || true
  if ! "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >>"${log}" 2>&1; then
    tail -n 20 "${log}" >&2
    mapfile -t missing < <(list_missing)
    fail "apt-get failed (its last lines are above): is this machine offline?"
  fi
}

# The stamp holds the lock file's checksum: it is written last, so that an installation that was cut off is done anew.
install_node_modules() {
  local web stamp wanted
  web=$(cd "$(dirname "${BASH_SOURCE[0]}")/../web" && pwd)
  stamp="${web}/node_modules/.installed"
  wanted=$(sha256sum <"${web}/package-lock.json")
  if [[ -f "${stamp}" && "$(<"${stamp}")" == "${wanted}" ]]; then
    echo "setup: web/node_modules is up to date"
    return
  fi
  echo "setup: installing web/node_modules"
  if ! (cd "${web}" && npm ci --prefer-offline --fetch-retries=1 --loglevel=error) >>"${log}" 2>&1; then
    tail -n 20 "${log}" >&2
    echo "setup: npm ci failed in web/ (its last lines are above): is this machine offline?" >&2
    echo "setup: to install by hand, where the registry of npm can be reached: cd web && npm ci" >&2
    exit 1
  fi
  echo "${wanted}" >"${stamp}"
}

log=$(mktemp)
trap 'rm -f "${log}"' EXIT
install_packages
install_node_modules
