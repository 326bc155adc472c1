#!/usr/bin/env bash
# Makes certificates to try a federation with: an authority, and a certificate with its key for each name. For real
# use take your own authority; what a certificate needs is in docs/network.md.
#
#   scripts/make_certificates.sh DIRECTORY NAME...
#   scripts/make_certificates.sh certs controller observer site-0 site-1
#   scripts/make_certificates.sh --help             this text
#
# DIRECTORY/ca.pem is the authority (its key ca.key stays there: whoever has it can join), DIRECTORY/NAME.pem and
# NAME.key are a participant's. A participant's name in the federation is the DNS name of its certificate. A
# certificate called "controller" is also for localhost and 127.0.0.1; other hosts are added as controller,HOST.
# Names that are there already stay as they are.

set -euo pipefail

case "${1:-}" in
  -h | --help)
    sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
if [[ $# -lt 2 ]]; then
  echo "make_certificates.sh: name a directory and at least one participant; see --help" >&2
  exit 2
fi

directory=$1
shift
mkdir -p "${directory}"
cd "${directory}"
umask 077

# openssl speaks on standard error also when all is well.
quietly() {
  local said
  said=$(openssl "$@" 2>&1) || {
    echo "make_certificates.sh: openssl $1 failed:" >&2
    echo "${said}" >&2
    exit 1
  }
}

if [[ ! -e ca.pem ]]; then
  quietly req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -keyout ca.key -out ca.pem \
    -subj "/CN=Metis federation" -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
fi

for each in "$@"; do
  name=${each%%,*}
  [[ -e ${name}.pem ]] && continue
  names="DNS:${name}"
  [[ ${name} == controller ]] && names+=",DNS:localhost,IP:127.0.0.1,IP:::1"
  if [[ ${each} == *,* ]]; then
    IFS=, read -ra hosts <<< "${each#*,}"
    for host in "${hosts[@]}"; do
      if [[ ${host} =~ ^[0-9.]+$ || ${host} == *:* ]]; then names+=",IP:${host}"; else names+=",DNS:${host}"; fi
    done
  fi
  quietly req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "${name}.key" -out "${name}.csr" \
    -subj "/CN=${name}"
  printf '%s\n' "subjectAltName=${names}" "basicConstraints=CA:FALSE" "keyUsage=digitalSignature" \
    "extendedKeyUsage=serverAuth,clientAuth" > "${name}.ext"
  quietly x509 -req -in "${name}.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 -out "${name}.pem" \
    -extfile "${name}.ext"
  rm "${name}.csr" "${name}.ext"
  chmod 644 "${name}.pem"
done
chmod 644 ca.pem
