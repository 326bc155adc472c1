#include "metis/doctor/finding.h"

namespace metis::doctor {
namespace {

constexpr Verdict kOk = Verdict::kOk;
constexpr Verdict kWarning = Verdict::kWarning;
constexpr Verdict kFailure = Verdict::kFailure;

// In the order in which `metis doctor` looks. docs/operations.md names every id.
constexpr Message kMessages[] = {
    // --- The configuration
    {"config.good", kOk, "{0}: policy {1}, {2} learners", "", ""},
    {"config.bad", kFailure, "{0}", "No controller starts with these settings.",
     "Correct what is named: `metis help config` explains every key, `metis check FILE` says what "
     "a file means."},
    {"config.unkept", kWarning, "storage.durability = \"none\": the controller keeps no state",
     "After a crash or a reboot the federation begins anew.",
     "Set storage.durability = \"full\", unless this is only to measure speed."},
    {"config.tests-only", kWarning, "only tests end this federation ({0}), and an observer tests",
     "Without an observer it never ends.",
     "Start a `metis observer` with test data, or set stop.duration as well."},

    // --- The run directory
    {"run.new", kOk, "{0} is not there yet: a new run will begin in it", "", ""},
    {"run.goes-on", kOk, "{0} holds a federation at event {1}; a controller started on it goes on",
     "", ""},
    {"run.in-use", kOk, "{0} is in use: its controller runs as process {1}", "", ""},
    {"run.finished", kOk, "{0} holds a finished federation; a new one needs another --run", "", ""},
    {"run.foreign", kFailure, "{0} holds files, but no run ({1}, for instance)",
     "A controller refuses to begin a run among other files.",
     "Choose a directory that is empty or not there yet with --run."},
    {"run.hidden", kFailure, "{0} can't be looked into: {1}",
     "A controller of this user can't go on with it.",
     "Run this as the user of the controller, or give that user the directory: chown -R USER {0}"},
    {"run.newer", kFailure, "{0} was written by a newer metis (format {1}, this program knows {2})",
     "This program can't go on with it, and changes nothing.",
     "Use the program that wrote it, or a later one (docs/operations.md, upgrade)."},
    {"run.damaged", kFailure, "{0}", "No controller can go on with this state.",
     "Restore the whole run directory from a backup (docs/operations.md, restore), or begin a new "
     "run from its best.metis: metis controller --model {1}/best.metis --run ANOTHER"},
    {"run.models-missing", kFailure,
     "{0}: of {1} models of the state {2} are missing or too short ({3}, for instance)",
     "No controller can go on with this state.",
     "Restore state.db and blobs/ together from one backup (docs/operations.md, restore)."},
    {"run.incomplete", kFailure, "{0} holds the state of a federation, but {1} is missing",
     "No controller can go on without it.", "Restore the whole run directory from a backup."},
    {"run.state-behind", kFailure, "{0}: state.db ends with event {1}, but events.jsonl has {2}",
     "Its journal (state.db-wal) is missing or damaged, or it is from an older copy: a controller "
     "does not go on by itself without what came later.",
     "Restore the whole run directory from a backup (docs/operations.md, restore), or go on "
     "without what came later: metis controller --run {0} --accept-loss"},
    {"run.record-behind", kFailure,
     "{0}: events.jsonl has {1} whole events, but the state was saved after {2}",
     "The end of the record is lost (did the machine lose its power?), and no controller can go on "
     "without it.",
     "Restore the record, or the whole run directory, from a backup (docs/operations.md, restore), "
     "or begin a new run from its best.metis: metis controller --model {0}/best.metis --run "
     "ANOTHER"},
    {"run.other-federation", kFailure, "{0} belongs to another federation than {1} describes",
     "A controller refuses to go on with other settings or another initial model.",
     "Leave FILE and --model out to go on with the run's own, or choose another --run."},

    // --- What the machine has
    {"files.good", kOk, "{0} files may be open, {1} are needed for {2} connections", "", ""},
    {"files.few", kWarning, "at most {0} files may be open, and {1} connections need {2}",
     "Once they run out nobody can connect, and the controller ends with code 75 to be started "
     "again.",
     "Raise the limit (ulimit -n, LimitNOFILE= in the unit), or lower network.max_connections."},
    {"files.too-few", kFailure, "at most {0} files may be open: hardly any connection fits",
     "A controller does not start with so few.",
     "Raise the limit: ulimit -n 65536, or LimitNOFILE=65536 in the unit."},
    {"disk.good", kOk, "{0}: {1} are free, the run needs about {2}", "", ""},
    {"disk.unforecast", kOk, "{0}: {1} are free (what a run needs follows from its model: --model)",
     "", ""},
    {"disk.tight", kWarning, "{0}: {1} are free, the run needs about {2}",
     "It fits, but nothing else may fill the disk meanwhile.",
     "Free some space, or put --run on a larger disk."},
    {"disk.short", kFailure, "{0}: {1} are free, the run needs about {2}",
     "On a full disk updates are refused until there is space again.",
     "Free some space, put --run on a larger disk, lower storage.snapshot_every, or record light "
     "(--record light)."},
    {"disk.unknown", kWarning, "{0}: how much space is free can't be told: {1}",
     "A full disk would be noticed only when it is full.", "Look yourself: df -h {0}"},
    {"disk.read-only", kFailure, "{0} can't be written by this user: {1}",
     "A controller can keep nothing there.",
     "Run this as the user of the controller, or allow that user to write there, or choose another "
     "directory with --run."},
    {"disk.remote", kWarning, "{0} is on a {1} file system",
     "A write-ahead log needs a local disk: over the network locks and syncs may be worth nothing.",
     "Put --run on a local disk, and copy backups to the other one."},
    {"memory.good", kOk, "{0} of memory are free, the models need about {1}", "", ""},
    {"memory.unforecast", kOk,
     "{0} of memory are free (what a controller needs follows from the model: --model)", "", ""},
    {"memory.tight", kWarning, "{0} of memory are free now, the models will need about {1}",
     "While other programs keep their memory the machine swaps, or ends a process.",
     "End other programs, or bound it: storage.memory_mb (the rest is read from the disk)."},
    {"memory.short", kFailure, "this machine has {0} of memory, the models need about {1}",
     "The controller will be ended by the system as learners join.",
     "Set storage.memory_mb (the rest is read from the disk), lower network.receive_budget_mb, or "
     "take a larger machine."},
    {"memory.unknown", kWarning, "how much memory is free can't be told: {0}",
     "Too little would be noticed only as the process ends.", "Look yourself: free -h"},
    {"clock.kept", kOk, "a time service keeps this machine's clock", "", ""},
    {"clock.unkept", kWarning, "nothing keeps this machine's clock right",
     "A clock that drifts makes certificates look expired or not yet valid.",
     "Start a time service: timedatectl set-ntp true, or chrony. (On a virtual machine whose host "
     "keeps the clock this can be left as it is.)"},

    // --- Where the controller listens
    {"listen.free", kOk, "{0} is free to listen on", "", ""},
    {"listen.ours", kOk, "{0} is where the controller of {1} listens now", "", ""},
    {"listen.loopback", kWarning, "{0} can be reached from this machine alone",
     "Sites elsewhere can't join.",
     "For a federation of several machines: --listen 0.0.0.0:{1}, with certificates."},
    {"listen.taken", kFailure, "{0} is in use by another program",
     "The controller can't listen there.",
     "See which (ss -ltnp 'sport = :{1}') and end it, or choose another port with --listen."},
    {"listen.denied", kFailure, "{0} may not be listened on by this user",
     "Ports below 1024 belong to the administrator.",
     "Choose a higher port, such as 7740, or give the unit "
     "AmbientCapabilities=CAP_NET_BIND_SERVICE."},
    {"listen.elsewhere", kFailure, "{0} is no address of this machine",
     "The controller can't listen there.",
     "Use 0.0.0.0:{1} for all addresses of this machine; `ip address` lists them."},
    {"listen.malformed", kFailure, "{0}", "The controller can't listen there.",
     "Write --listen HOST:PORT, e.g. 0.0.0.0:7740."},
    {"listen.failed", kFailure, "{0} can't be listened on: {1}",
     "The controller can't listen there.", "Choose another address with --listen."},

    // --- Certificates
    {"certificate.good", kOk, "{0}: for {1}, valid for another {2} days, until {3}", "", ""},
    {"certificate.soon", kWarning, "{0}: for {1}, expires in {2} days, on {3}",
     "Afterwards nobody believes it: whoever has it can't connect.",
     "Before that day: metis ca invite NAME at the controller, then start the participant with the "
     "new --enrol TOKEN; a controller's own is made anew by metis ca init DIR --host HOST."},
    {"certificate.authority-soon", kWarning,
     "{0}: the authority's certificate expires in {1} days, on {2}",
     "With it every certificate of the federation ends.",
     "Set up a new authority (metis ca init ANOTHER) and enrol every site anew before that day."},
    {"certificate.bad", kFailure, "{0}", "No connection can be made with it.",
     "Do what is said there; a new certificate: metis ca invite NAME at the controller, then start "
     "once with --enrol TOKEN."},
    {"certificate.key-open", kWarning, "{0} can be read by others (mode {1})",
     "Whoever reads it can speak as its owner.",
     "chmod 600 {0}; if somebody may have read it: metis ca revoke NAME, and enrol anew."},
    {"certificate.none", kFailure, "no certificates are given for {0}",
     "A federation of several machines speaks TLS only.",
     "Give --authority DIR (metis ca init makes it), or --ca, --certificate and --key; --insecure "
     "is "
     "for 127.0.0.1 alone."},
    {"authority.good", kOk, "{0} holds the authority of a federation", "", ""},
    {"authority.none", kFailure, "{0} holds no authority: {1} is missing",
     "A controller can't be started with it, and nobody can be invited.",
     "Make one: metis ca init {0} --host NAME_OR_ADDRESS"},
    {"authority.key-open", kFailure, "{0} can be read by others (mode {1})",
     "Whoever reads it can join as anybody.",
     "chmod 600 {0}; if somebody may have read it: set up a new authority and enrol all sites "
     "anew."},
    {"authority.read-only", kFailure, "{0} can't be written by this user: {1}",
     "Invitations could not be marked as used, so nobody can enrol.",
     "Run this as the user of the controller, or give that user the directory: chown -R USER {2}"},
    {"state.empty", kWarning, "{0} holds no certificate yet",
     "This site can't join before it has one.",
     "Start it once with --enrol TOKEN (metis ca invite NAME at the controller makes the token)."},
    {"state.in-use", kOk, "{0} is in use: its participant runs as process {1}", "", ""},
    {"state.read-only", kFailure, "{0} can't be written by this user: {1}",
     "A participant can't number its lives there, and does not start.",
     "Run this as the user of the participant, or choose another directory with --state."},

    // --- Reaching the controller
    {"join.reached", kOk, "{0} answers within {1} ms", "", ""},
    {"join.malformed", kFailure, "{0}", "Nothing can be dialled.",
     "Write --join HOST:PORT, e.g. fed.example.org:7740."},
    {"join.unknown-host", kFailure, "{0} is no known host: {1}", "Nothing can be dialled.",
     "Check the spelling, and that this machine can look names up: getent hosts {0}"},
    {"join.refused", kFailure, "{0}: the machine answers, but nothing listens on that port",
     "The controller is not running, listens on another port or on its loopback only, or a "
     "firewall "
     "rejects the connection.",
     "At the controller: look at RUN/address, and run metis doctor --run RUN there."},
    {"join.silent", kFailure, "{0}: no answer within {1} s",
     "The machine is down, or a firewall drops the packets.",
     "Allow outgoing TCP to that port here, and incoming TCP at the controller's side."},
    {"join.unreachable", kFailure, "{0} can't be reached: {1}", "This site can't join.",
     "Check network, route and VPN: ping, ip route get ADDRESS."},
    {"join.plain", kFailure, "{0} answers, but not in TLS",
     "It is another program, or a controller started with --insecure, or something in between does "
     "not pass TLS on.",
     "Check the port; start the controller with --authority DIR or certificates; let firewalls and "
     "proxies pass the port through unchanged."},
    {"join.insecure", kOk, "{0} is a controller without TLS, for this machine alone", "", ""},
    {"join.other", kFailure, "{0} answers, but is no controller without TLS",
     "It is another program, or a controller with certificates.",
     "Check the port; for a controller with certificates leave --insecure out."},
    {"tls.good", kOk, "{0} proves to be {1}; its certificate is valid for another {2} days", "",
     ""},
    {"tls.unverified", kWarning, "{0} says that it is {1} (topmost certificate: SHA-256 {2})",
     "Whether that is true was not checked: there is no authority to check it with.",
     "Give --ca ca.pem or --state DIR of this site."},
    {"tls.stranger", kFailure, "{0} presents a certificate of {1}, which {2} did not sign: {3}",
     "Another federation answers there, or somebody stands in between (an inspecting firewall, for "
     "instance).",
     "Compare with the controller's operator: openssl x509 -in ca.pem -noout -fingerprint -sha256; "
     "let firewalls pass the port through unopened."},
    {"tls.other-host", kFailure, "{0}: the certificate there is for {1}, not for {2}",
     "Participants refuse a controller whose certificate is not for the host that they dial.",
     "Dial one of those names; or make the controller's certificate for {2} too: metis ca init DIR "
     "--host {2}"},
    {"tls.expired", kFailure, "{0}: the controller's certificate expired on {1}; here it is {2}",
     "Nobody can join.",
     "At the controller: a new certificate (docs/operations.md). If it is the time here that is "
     "wrong: timedatectl set-ntp true"},
    {"tls.early", kFailure,
     "{0}: the controller's certificate is not valid before {1}; here it is {2}",
     "This machine's clock is behind, or the controller's was ahead when the certificate was made.",
     "Set the clocks: timedatectl set-ntp true"},
    {"tls.not-grpc", kFailure, "{0} speaks TLS, but not HTTP/2",
     "It is a web server or a proxy, no controller.",
     "Check host and port; let proxies pass the port through unchanged."},
    {"tls.welcome", kOk, "{0} accepts the certificate of {1}", "", ""},
    {"tls.unwelcome", kFailure, "{0} refuses the certificate of {1}: {2}",
     "It is of another authority, has expired by the controller's clock, or was not sent.",
     "Compare the clocks; enrol anew (metis ca invite {1}). RUN/audit.jsonl at the controller has "
     "its own words."},
    {"tls.turned-away", kFailure, "the controller turns this certificate away: {0}",
     "Whoever has it can't take part any more.",
     "Ask the federation's operator why, and for a new invitation (metis ca invite NAME); then "
     "start "
     "with the new --enrol TOKEN."},
    {"clock.good", kOk, "the controller's clock and this one differ by {0} s", "", ""},
    {"clock.differs", kWarning, "the controller's clock is {0} s {1} this one",
     "Fresh certificates may not be believed yet, and records are hard to compare.",
     "Start a time service on both machines: timedatectl set-ntp true"},
    {"clock.wrong", kFailure, "the controller's clock is {0} s {1} this one",
     "Certificates are taken for expired or not yet valid; the numbers of this participant's lives "
     "come from the clock.",
     "Start a time service on both machines: timedatectl set-ntp true"},
    {"clock.untold", kWarning, "the controller does not tell its time: {0}",
     "Whether the clocks agree was not checked.", "Compare `date -u` on both machines by hand."},

    // --- The data of a site
    {"data.good", kOk, "{0}: {1} examples of {2}, {3} classes", "", ""},
    {"data.bad", kFailure, "{0}", "A learner can't learn from it.",
     "Correct the file or its name: docs/datasets.md has the formats, `metis data list` the "
     "names."},
    {"data.other-content", kWarning, "{0}: the {1} part is not the content that is recorded for it",
     "Files of the right form and size, but with other examples: results can't be compared.",
     "Bring the official files in again: metis data import {0} FILES"},
    {"data.other-model", kFailure, "{0} has {1} classes of {2}, the model is for {3} of {4}",
     "The federation refuses the learner: its network would be another.",
     "Name the right data; classes are numbered the same at all sites, and every file holds the "
     "last one."},
    {"data.thin", kWarning, "{0}: classes with a single example: {1}",
     "Where the policy validates, they train but are never validated here.",
     "Nothing, if so few are all there are; else check how the file was made."},
};

}  // namespace

std::span<const Message> Messages() { return kMessages; }

}  // namespace metis::doctor
