#include "metis/rpc/participants.h"

#include <openssl/rand.h>

#include <utility>

#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::rpc {

std::string MakeToken() {
  unsigned char bytes[16];
  METIS_CHECK(RAND_bytes(bytes, sizeof(bytes)) == 1);
  return std::string(reinterpret_cast<const char*>(bytes), sizeof(bytes));
}

// --- One participant

std::shared_ptr<Line> Participant::Connect(std::shared_ptr<Line> line) {
  std::scoped_lock lock(mutex_);
  return std::exchange(line_, std::move(line));
}

void Participant::Disconnect(const Line* line) {
  std::shared_ptr<Line> gone;
  std::scoped_lock lock(mutex_);
  if (line_.get() != line) return;
  gone = std::move(line_);
  line_ = nullptr;
  away_since_ = Clock::now();
}

std::shared_ptr<Line> Participant::line() const {
  std::scoped_lock lock(mutex_);
  return line_;
}

void Participant::Offer(const federation::Action& message, ModelPtr model) {
  std::scoped_lock lock(mutex_);
  offers_.Add(message, std::move(model));
}

void Participant::Cancel(const federation::UpdateId& update) {
  std::scoped_lock lock(mutex_);
  offers_.Cancel(update);
}

void Participant::Answered(const federation::Event& event) {
  std::scoped_lock lock(mutex_);
  offers_.Answered(event);
}

ModelPtr Participant::Find(uint64_t fingerprint) const {
  std::scoped_lock lock(mutex_);
  return offers_.Find(fingerprint);
}

void Participant::Served(uint64_t fingerprint) {
  std::scoped_lock lock(mutex_);
  offers_.Served(fingerprint, Clock::now());
}

bool Participant::BeginDownload() {
  std::scoped_lock lock(mutex_);
  if (downloads_ >= kMostDownloads) return false;
  ++downloads_;
  return true;
}

void Participant::EndDownload() {
  std::scoped_lock lock(mutex_);
  --downloads_;
}

bool Participant::BeginStoring() {
  std::scoped_lock lock(mutex_);
  return !std::exchange(storing_, true);
}

void Participant::EndStoring() {
  std::scoped_lock lock(mutex_);
  storing_ = false;
}

std::optional<PartialUpload> Participant::Claim(const std::shared_ptr<Receiving>& upload,
                                                const UploadKey& key) {
  std::shared_ptr<Receiving> earlier;
  std::optional<PartialUpload> partial;
  {
    std::scoped_lock lock(mutex_);
    earlier = upload_.lock();
    upload_ = upload;
    current_ = upload.get();
    partial = std::exchange(parked_, std::nullopt);
  }
  if (earlier) {
    if (std::optional<PartialUpload> taken = earlier->Surrender()) partial = std::move(taken);
  }
  if (partial && partial->key != key) partial.reset();
  return partial;
}

void Participant::Park(const Receiving* upload, PartialUpload partial) {
  std::scoped_lock lock(mutex_);
  if (current_ != upload) return;
  parked_ = std::move(partial);
  parked_at_ = Clock::now();
}

std::optional<Clock::time_point> Participant::parked() const {
  std::scoped_lock lock(mutex_);
  if (!parked_) return std::nullopt;
  return parked_at_;
}

void Participant::DropParked() {
  std::optional<PartialUpload> dropped;  // let go outside the lock
  std::scoped_lock lock(mutex_);
  dropped.swap(parked_);
}

void Participant::Forget() {
  std::shared_ptr<Receiving> upload;
  std::optional<PartialUpload> dropped;
  {
    std::scoped_lock lock(mutex_);
    upload = upload_.lock();
    current_ = nullptr;
    dropped.swap(parked_);
    offers_.Clear();
  }
  if (upload) upload->Surrender();
}

bool Participant::Sweep(Clock::time_point now) {
  std::optional<PartialUpload> dropped;
  std::scoped_lock lock(mutex_);
  offers_.Expire(now);
  if (parked_ && now - parked_at_ >= kForgottenAfter) dropped.swap(parked_);
  return !line_ && now - away_since_ >= kForgottenAfter;
}

// --- All of them

Result<ParticipantPtr> Participants::Admit(LearnerId id, Incarnation incarnation,
                                           const std::string& name, federation::Role role,
                                           const std::shared_ptr<Line>& line) {
  ParticipantPtr earlier;
  ParticipantPtr admitted;
  {
    std::scoped_lock lock(mutex_);
    ParticipantPtr& present = by_id_[id];
    if (present && incarnation < present->incarnation) {
      return Invalid(Text("incarnation ", incarnation, " of \"", name, "\" is older than ",
                          present->incarnation,
                          ", which has come already: is it running twice, or has its clock been "
                          "set back?"));
    }
    if (present && present->incarnation == incarnation && present->role == role) {
      admitted = present;
    } else {
      earlier = present;
      if (earlier) by_token_.erase(earlier->token);
      admitted = std::make_shared<Participant>(id, incarnation, name, role, MakeToken());
      by_token_[admitted->token] = admitted;
      present = admitted;
    }
  }
  if (earlier) {
    if (std::shared_ptr<Line> old = earlier->Connect(nullptr)) old->Hang("a later life has come");
    earlier->Forget();
  }
  if (std::shared_ptr<Line> old = admitted->Connect(line)) {
    old->Hang("another conversation of the same name has begun");
  }
  return admitted;
}

ParticipantPtr Participants::OfId(LearnerId id) const {
  std::scoped_lock lock(mutex_);
  auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

ParticipantPtr Participants::OfToken(const std::string& token) const {
  std::scoped_lock lock(mutex_);
  auto found = by_token_.find(token);
  return found == by_token_.end() ? nullptr : found->second;
}

std::vector<ParticipantPtr> Participants::All() const {
  std::vector<ParticipantPtr> all;
  std::scoped_lock lock(mutex_);
  for (const auto& [id, participant] : by_id_) all.push_back(participant);
  return all;
}

std::map<LearnerId, std::string> Participants::Connections() const {
  std::map<LearnerId, std::string> connections;
  for (const ParticipantPtr& participant : All()) {
    const std::shared_ptr<Line> line = participant->line();
    if (line) connections.emplace(participant->id, line->peer());
  }
  return connections;
}

void Participants::Sweep(Clock::time_point now) {
  for (const ParticipantPtr& participant : All()) {
    if (!participant->Sweep(now)) continue;
    {
      std::scoped_lock lock(mutex_);
      auto present = by_id_.find(participant->id);
      // It may have come back this moment: then it has a line, or is another life.
      if (present->second != participant || participant->line()) continue;
      by_id_.erase(present);
      by_token_.erase(participant->token);
    }
    participant->Forget();
  }
}

bool Participants::DropOldestParked() {
  ParticipantPtr oldest;
  Clock::time_point since;
  for (const ParticipantPtr& participant : All()) {
    const std::optional<Clock::time_point> parked = participant->parked();
    if (parked && (!oldest || *parked < since)) {
      oldest = participant;
      since = *parked;
    }
  }
  if (oldest) oldest->DropParked();
  return oldest != nullptr;
}

}  // namespace metis::rpc
