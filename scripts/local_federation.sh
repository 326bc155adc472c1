#!/usr/bin/env bash
# A federation on this machine as it would be on eleven: a controller, learners and an observer as processes of
# their own, with mutual TLS over loopback. The learners hold unequal parts of a few thousand images of
# Fashion-MNIST; the last one is slow, and the labels of the largest are random. At the end: a table, a report to
# open in a browser. About three minutes on two cores, besides the build. The run is left in runs/local.
#
#   scripts/local_federation.sh                        ten learners, async-dvw
#   scripts/local_federation.sh --policy sync-fedavg   another policy of `metis help config`
#   scripts/local_federation.sh --learners 4           fewer learners (at least 2)
#   scripts/local_federation.sh --duration 20s         how long it runs (default 2min)
#   scripts/local_federation.sh --record replayable    keep the model of every update, so that `metis replay` can pass
#                                                      the run through the controller again (default light: without)
#   scripts/local_federation.sh --insecure             without certificates
#   scripts/local_federation.sh --out runs/other       leave the run elsewhere; it must not exist
#   scripts/local_federation.sh --bin build/dev/bin    programs that are built already
#   scripts/local_federation.sh --help                 this text
#
# Ctrl-C ends everything in good order.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
learners=10
policy=async-dvw
duration=2min
record=light
out=runs/local
bin=
secure=true

complain() {
  echo "local_federation.sh: $1; see --help" >&2
  exit 2
}
while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help)
      sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    --insecure) secure=false ;;
    --learners | --policy | --duration | --record | --out | --bin)
      [[ $# -ge 2 ]] || complain "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    *) complain "there is no option $1" ;;
  esac
  shift
done
[[ ${learners} =~ ^[0-9]+$ && ${learners} -ge 2 ]] || complain "--learners ${learners}: must be at least 2"
[[ ${duration} =~ ^[0-9]+(\.[0-9]+)?(ns|us|ms|s|min|h|d)$ && ${duration} =~ [1-9] ]] ||
  complain "--duration ${duration}: must be a number above 0 and a unit, such as 20s, 2min or 1.5h"
[[ ${record} == light || ${record} == replayable ]] || complain "--record ${record}: must be light or replayable"
[[ -z ${bin} || -x ${bin}/metis ]] || complain "--bin ${bin}: there is no metis"
[[ ! -e ${out} ]] || complain "--out ${out}: it exists; remove it, or choose another"

if [[ -z ${bin} ]]; then
  cd "${here}"
  scripts/setup.sh
  cmake --preset release > /dev/null
  cmake --build --preset release --target programs
  bin=${here}/build/release/bin
  cd - > /dev/null
fi
bin=$(cd "${bin}" && pwd)
metis=${bin}/metis

work=$(mktemp -d)
processes=()
end() {
  trap - EXIT INT TERM
  local process
  for process in "${processes[@]:-}"; do
    if [[ -n ${process} ]]; then kill -TERM "${process}" 2> /dev/null || true; fi
  done
  wait || true
  rm -rf "${work}"
}
trap end EXIT
trap 'echo "ending the federation" >&2; exit 130' INT TERM

# Who it is: the options are left in `identity`. Under TLS the certificate says the name; a controller has none.
identify() { # name
  if ${secure}; then
    identity=(--ca "${work}/certs/ca.pem" --certificate "${work}/certs/$1.pem" --key "${work}/certs/$1.key")
  else
    identity=(--insecure)
    [[ $1 == controller ]] || identity+=(--name "$1")
  fi
}
# Ctrl-C is for this script, which ends its processes itself; the front would stand between them and the signal.
start() { # log program arguments...
  local log=$1 program=$2
  shift 2
  setsid "${bin}/metis-${program}" "$@" > "${work}/${log}.log" 2>&1 &
  processes+=($!)
}

# Which policies there are is the program's to say.
: > "${work}/defaults.toml"
said=$("${metis}" check "${work}/defaults.toml" --set "federation.policy=${policy}" 2>&1) ||
  complain "--policy ${policy}: ${said}"

names=()
for ((k = 0; k < learners; ++k)); do names+=("site-${k}"); done
if ${secure}; then "${here}/scripts/make_certificates.sh" "${work}/certs" controller observer "${names[@]}"; fi

"${metis}" model init mnist-cnn --dataset fashion-mnist --seed 1990 --out "${work}/initial.metis"

# Shares are numbered from the largest down: the first one's labels are random, the last one's machine is slow.
settings=(
  --set "federation.policy=${policy}" --set "federation.learners=${learners}"
  --set "group.slow.learners=1" --set "federation.quorum=1"
  --set data.dataset=fashion-mnist --set data.examples=4000 --set data.test_examples=2000 --set data.sizes=skewed
  --set training.batch_size=50 --set training.learning_rate=0.02 --set trigger.local_epochs=2
  --set membership.retry=1s --set "stop.duration=${duration}" --set test.every=5s --listen 127.0.0.1:0
  --record "${record}")
identify controller
start controller controller --model "${work}/initial.metis" --run "${out}" "${settings[@]}" "${identity[@]}"
controller=${processes[0]}
for ((tries = 0; tries < 300; ++tries)); do
  [[ -s ${out}/address ]] && break
  if ! kill -0 "${controller}" 2> /dev/null; then break; fi
  sleep 0.1
done
if [[ ! -s ${out}/address ]]; then
  cat "${work}/controller.log" >&2
  exit 1
fi
address=$(cat "${out}/address")
echo "the controller listens on ${address}; ${learners} learners and an observer join it"

identify observer
start observer observer --join "${address}" --data fashion-mnist --state "${work}/observer" "${identity[@]}"
for ((k = 0; k < learners; ++k)); do
  extra=()
  ((k == 0)) && extra=(--faulty labels=random)
  ((k == learners - 1)) && extra=(--group slow --slowdown 4)
  identify "site-${k}"
  start "site-${k}" learner --join "${address}" --data fashion-mnist --share "${k}/${learners}" \
    --state "${work}/site-${k}" "${extra[@]}" "${identity[@]}"
done

# What the controller says, until it ends.
tail -n +1 -f --pid="${controller}" "${work}/controller.log" &
processes+=($!)
wait "${controller}" && code=0 || code=$?
if [[ ${code} -ne 0 ]]; then
  echo "local_federation.sh: the controller failed (${code})" >&2
  for log in observer "${names[@]}"; do
    echo "--- ${log}" >&2
    tail -n 5 "${work}/${log}.log" >&2 || true
  done
  exit 1
fi
wait || true
echo
"${metis}" compare "${out}"
"${metis}" report "${out}" --out "${out}/report.html"
