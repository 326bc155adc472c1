// A participant's conversation (docs/wire.md): Hello and Welcome, then messages either way. It
// takes the next message only when few of its earlier ones wait for the controller's loop, and is
// dropped when its peer is silent or does not read.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "metis/rpc/stream.h"
#include "proto/metis/v1/federation.pb.h"

namespace metis::rpc {

class Conversation final : public Stream<v1::FromParticipant, v1::ToParticipant>, public Line {
 public:
  static grpc::ServerBidiReactor<v1::FromParticipant, v1::ToParticipant>* Start(
      CorePtr core, grpc::CallbackServerContext* context);

  Conversation(CorePtr core, grpc::CallbackServerContext* context);

  bool Send(v1::ToParticipant message) override;
  void Hang(const std::string& why) override;
  const std::string& peer() const override { return peer_; }
  void Sweep(Clock::time_point now) override;
  bool idle();  // nothing waits to be written

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void Ended() override;

  void Hear();
  void Greet(const v1::Hello& hello);
  void Admit(LearnerId id);
  // `retry`: it may come again later.
  void Refuse(const std::string& reason, const std::string& message, bool retry = false);
  void Handle(const v1::FromParticipant& message);
  void Pass(std::optional<federation::Event> event);
  void Handled();
  void End(grpc::Status status);
  void WriteLocked();
  std::shared_ptr<Conversation> Self();

  v1::Hello hello_;  // constant once it came

  // Guarded by mutex_; the first is constant from the first read after the Welcome.
  ParticipantPtr participant_;
  std::deque<v1::ToParticipant> queue_;  // the first is being written
  std::optional<grpc::Status> end_;      // once everything is written
  Clock::time_point heard_;
  Clock::time_point written_;  // the last time that a write ended, or the queue began
  uint32_t unhandled_ = 0;     // messages that wait for the loop
  bool resting_ = false;       // no read is under way, because too many wait
  bool dropped_ = false;
};

}  // namespace metis::rpc
