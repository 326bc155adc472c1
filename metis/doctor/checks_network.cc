#include <cmath>
#include <cstdio>
#include <ctime>

#include "metis/core/text.h"
#include "metis/doctor/checks.h"

namespace metis::doctor {
namespace {

constexpr int64_t kDay = 24 * 3600;
constexpr int64_t kSoonDays = 30;           // to get a new certificate
constexpr int64_t kAuthoritySoonDays = 90;  // to enrol a whole federation anew
constexpr uint32_t kOthersRead = 0044;
// Certificates are made some minutes into the past; beyond that a fresh one is refused.
constexpr double kSkewNoticed = 5;
constexpr double kSkewHarmful = 120;

int64_t DaysUntil(int64_t moment, int64_t now) { return (moment - now) / kDay; }

std::string FormatMode(uint32_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode & 07777u);
  return text;
}

std::string FormatNames(const JoinFacts::Peer& peer) {
  return peer.names.empty() ? peer.subject : Join(peer.names);
}

Finding Unreached(const JoinFacts& facts) {
  switch (facts.reach) {
    case JoinFacts::Reach::kMalformed:
      return Say("join.malformed", {facts.words});
    case JoinFacts::Reach::kUnknownHost:
      return Say("join.unknown-host", {facts.host, facts.words});
    case JoinFacts::Reach::kRefused:
      return Say("join.refused", {facts.address});
    case JoinFacts::Reach::kSilent:
      return Say("join.silent", {facts.address, Text(facts.patience_s)});
    case JoinFacts::Reach::kUnreachable:
    case JoinFacts::Reach::kReached:
      break;
  }
  return Say("join.unreachable", {facts.address, facts.words});
}

void CheckPeer(const JoinFacts& facts, const JoinFacts::Peer& peer, int64_t now_s,
               Findings& findings) {
  const std::string& address = facts.address;
  const std::string names = FormatNames(peer);
  const size_t before = findings.size();
  if (!peer.http2) findings.push_back(Say("tls.not-grpc", {address}));
  if (facts.ca_file.empty()) {
    findings.push_back(Say("tls.unverified", {address, names, peer.fingerprint}));
  } else if (!peer.distrust.empty()) {
    findings.push_back(Say("tls.stranger", {address, names, facts.ca_file, peer.distrust}));
  }
  if (!peer.for_host) findings.push_back(Say("tls.other-host", {address, names, facts.host}));
  const std::string here = FormatMoment(now_s);
  if (peer.until <= now_s) {
    findings.push_back(Say("tls.expired", {address, FormatMoment(peer.until), here}));
  }
  if (peer.from > now_s) {
    findings.push_back(Say("tls.early", {address, FormatMoment(peer.from), here}));
  }
  if (findings.size() == before) {
    findings.push_back(Say("tls.good", {address, names, Text(DaysUntil(peer.until, now_s))}));
  }
  if (facts.our_name.empty()) return;
  if (facts.refusal.empty()) {
    findings.push_back(Say("tls.welcome", {address, facts.our_name}));
  } else {
    findings.push_back(Say("tls.unwelcome", {address, facts.our_name, facts.refusal}));
  }
}

}  // namespace

std::string FormatMoment(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  char text[32];
  if (gmtime_r(&time, &parts) == nullptr) return "an unreadable date";
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts)};
}

Findings CheckListen(const ListenFacts& facts, const RunFacts* run) {
  using State = ListenFacts::State;
  const std::string port = Text(facts.port);
  Findings findings;
  switch (facts.state) {
    case State::kMalformed:
      return {Say("listen.malformed", {facts.words})};
    case State::kDenied:
      return {Say("listen.denied", {facts.address})};
    case State::kElsewhere:
      return {Say("listen.elsewhere", {facts.address, port})};
    case State::kFailed:
      return {Say("listen.failed", {facts.address, facts.words})};
    case State::kTaken:
      if (run == nullptr || run->state != RunFacts::State::kInUse ||
          !run->address.ends_with(Text(":", port))) {
        return {Say("listen.taken", {facts.address, port})};
      }
      findings.push_back(Say("listen.ours", {facts.address, run->directory}));
      break;
    case State::kFree:
      findings.push_back(Say("listen.free", {facts.address}));
      break;
  }
  if (facts.loopback) findings.push_back(Say("listen.loopback", {facts.address, port}));
  return findings;
}

Findings CheckCertificate(const Result<CertificateFacts>& facts, int64_t now_s) {
  if (!facts) return {Say("certificate.bad", {facts.error().message})};
  const int64_t days = DaysUntil(facts->until, now_s);
  Findings findings = {
      Say(days < kSoonDays ? "certificate.soon" : "certificate.good",
          {facts->file, Join(facts->names), Text(days), FormatMoment(facts->until)})};
  const int64_t ca_days = DaysUntil(facts->ca_until, now_s);
  if (ca_days < kAuthoritySoonDays) {
    findings.push_back(Say("certificate.authority-soon",
                           {facts->ca_file, Text(ca_days), FormatMoment(facts->ca_until)}));
  }
  if ((facts->key_mode & kOthersRead) != 0) {
    findings.push_back(Say("certificate.key-open", {facts->key_file, FormatMode(facts->key_mode)}));
  }
  return findings;
}

Findings CheckNoCertificates(const std::string& address) {
  return {Say("certificate.none", {address})};
}

Findings CheckAuthority(const AuthorityFacts& facts) {
  if (!facts.missing.empty()) {
    return {Say("authority.none", {facts.directory, facts.missing})};
  }
  Findings findings;
  if ((facts.key_mode & kOthersRead) != 0) {
    findings.push_back(Say("authority.key-open", {facts.key_file, FormatMode(facts.key_mode)}));
  }
  if (!facts.read_only.empty()) {
    findings.push_back(
        Say("authority.read-only", {facts.directory, facts.read_only, facts.directory}));
  }
  if (findings.empty()) findings.push_back(Say("authority.good", {facts.directory}));
  return findings;
}

Findings CheckState(const StateFacts& facts) {
  Findings findings;
  if (!facts.holder.empty())
    findings.push_back(Say("state.in-use", {facts.directory, facts.holder}));
  if (!facts.read_only.empty()) {
    findings.push_back(Say("state.read-only", {facts.directory, facts.read_only}));
  }
  if (!facts.enrolled) findings.push_back(Say("state.empty", {facts.directory}));
  return findings;
}

Findings CheckJoin(const JoinFacts& facts, int64_t now_s) {
  if (facts.reach != JoinFacts::Reach::kReached) return {Unreached(facts)};
  Findings findings = {
      Say("join.reached", {facts.address, Fixed(facts.milliseconds, facts.milliseconds < 10)})};
  if (facts.insecure) {
    const bool right = facts.speech == JoinFacts::Speech::kPlainFederation;
    findings.push_back(Say(right ? "join.insecure" : "join.other", {facts.address}));
  } else if (facts.speech != JoinFacts::Speech::kTls || !facts.peer) {
    findings.push_back(Say("join.plain", {facts.address}));
  } else {
    CheckPeer(facts, *facts.peer, now_s, findings);
  }
  return findings;
}

Findings CheckClock(const ClockFacts& facts) {
  if (!facts.ahead_s && facts.ahead_s.error().code == ErrorCode::kInvalid) {
    return {Say("tls.turned-away", {facts.ahead_s.error().message})};
  }
  if (!facts.ahead_s) return {Say("clock.untold", {facts.ahead_s.error().message})};
  const double ahead = *facts.ahead_s;
  const double apart = std::abs(ahead);
  if (apart < kSkewNoticed) return {Say("clock.good", {Fixed(apart, 1)})};
  return {Say(apart < kSkewHarmful ? "clock.differs" : "clock.wrong",
              {Fixed(apart, 0), ahead > 0 ? "ahead of" : "behind"})};
}

}  // namespace metis::doctor
