// Who is connected, and what the network keeps for each: its conversation, the models offered to
// it, and a model that it has begun to send. One Participant is one life of one name; it outlives a
// broken connection, so that transfers go on where they stopped, for kForgottenAfter.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "metis/core/ids.h"
#include "metis/core/result.h"
#include "metis/federation/event.h"
#include "metis/rpc/offers.h"
#include "metis/rpc/receive_budget.h"
#include "metis/wire/transfer.h"
#include "proto/metis/v1/federation.pb.h"

namespace metis::rpc {

using Clock = std::chrono::steady_clock;

inline constexpr std::chrono::minutes kForgottenAfter{10};
inline constexpr uint32_t kMostDownloads = 4;  // at a time, of one participant

// A conversation, as others see it.
class Line {
 public:
  virtual ~Line() = default;
  // False: it is ending, nothing more is said.
  virtual bool Send(v1::ToParticipant message) = 0;
  // Everything sent is said, then the stream ends.
  virtual void Hang(const std::string& why) = 0;
  virtual const std::string& peer() const = 0;  // address
};

struct UploadKey {
  Sequence sequence;
  uint64_t fingerprint = 0;

  friend bool operator==(const UploadKey&, const UploadKey&) = default;
};

// A model of which a part has arrived.
struct PartialUpload {
  UploadKey key;
  std::unique_ptr<wire::ModelReceiver> receiver;
  ReceiveBudget::Lease lease;
};

// An upload under way, as the next one of the same participant sees it.
class Receiving {
 public:
  virtual ~Receiving() = default;
  // Ends, and gives away what it has.
  virtual std::optional<PartialUpload> Surrender() = 0;
};

class Participant {
 public:
  Participant(LearnerId id, Incarnation incarnation, std::string name, federation::Role role,
              std::string token)
      : id(id),
        incarnation(incarnation),
        name(std::move(name)),
        role(role),
        token(std::move(token)) {}

  const LearnerId id;
  const Incarnation incarnation;
  const std::string name;
  const federation::Role role;
  const std::string token;

  // Replaces the conversation; returns the earlier one.
  std::shared_ptr<Line> Connect(std::shared_ptr<Line> line);
  // Of no effect if another conversation has begun.
  void Disconnect(const Line* line);
  std::shared_ptr<Line> line() const;

  // --- Models to it
  void Offer(const federation::Action& message, ModelPtr model);
  void Cancel(const federation::UpdateId& update);
  void Answered(const federation::Event& event);
  ModelPtr Find(uint64_t fingerprint) const;
  void Served(uint64_t fingerprint);
  bool BeginDownload();  // false: too many at a time
  void EndDownload();

  // --- A model from it: one at a time, the latest to come is the one that goes on
  std::optional<PartialUpload> Claim(const std::shared_ptr<Receiving>& upload,
                                     const UploadKey& key);
  // Keeps what an upload has, unless another has begun.
  void Park(const Receiving* upload, PartialUpload partial);
  // When what is parked was parked, if something is.
  std::optional<Clock::time_point> parked() const;
  void DropParked();

  // A whole update waits for the disk or the controller: one at a time, so that a participant that
  // sends as fast as it can takes no more than its turn. False: there is one already.
  bool BeginStoring();
  void EndStoring();

  // It has another life, or is gone: lets go of everything.
  void Forget();
  // Lets go of what is too old. True: nothing has been heard of it for so long that it may be
  // forgotten.
  bool Sweep(Clock::time_point now);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Line> line_;
  Clock::time_point away_since_ = Clock::now();
  Offers offers_;
  uint32_t downloads_ = 0;
  bool storing_ = false;
  std::weak_ptr<Receiving> upload_;
  const Receiving* current_ = nullptr;  // upload_'s, also once it is gone
  std::optional<PartialUpload> parked_;
  Clock::time_point parked_at_;
};

using ParticipantPtr = std::shared_ptr<Participant>;

class Participants {
 public:
  // A conversation begins. A greater incarnation replaces a life, an equal one goes on with it; an
  // error for a smaller one. An earlier conversation of the name is ended.
  Result<ParticipantPtr> Admit(LearnerId id, Incarnation incarnation, const std::string& name,
                               federation::Role role, const std::shared_ptr<Line>& line);
  ParticipantPtr OfId(LearnerId id) const;
  ParticipantPtr OfToken(const std::string& token) const;
  // The addresses of those that are connected.
  std::map<LearnerId, std::string> Connections() const;
  // Forgets those that are away for long.
  void Sweep(Clock::time_point now);
  // Drops the model that has been parked longest; false if there is none.
  bool DropOldestParked();

 private:
  std::vector<ParticipantPtr> All() const;

  mutable std::mutex mutex_;
  std::map<LearnerId, ParticipantPtr> by_id_;  // the latest life of each
  std::map<std::string, ParticipantPtr> by_token_;
};

// 16 bytes that nobody can guess.
std::string MakeToken();

}  // namespace metis::rpc
