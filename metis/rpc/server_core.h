// What all streams of a controller's server share. Thread-safe.
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "metis/machine/worker_pool.h"
#include "metis/rpc/controller_server.h"
#include "metis/rpc/participants.h"
#include "metis/rpc/proof.h"
#include "metis/rpc/receive_budget.h"

namespace metis::rpc {

// A call under way.
class LiveStream {
 public:
  virtual ~LiveStream() = default;
  // Drops itself if it has stood still for too long.
  virtual void Sweep(Clock::time_point now) = 0;
  // Ends the call; its peer sees CANCELLED.
  virtual void Drop() = 0;
  // Ends the call with these words; one that does not end is dropped when it is said again.
  virtual void Deny(const Denial& denial, Clock::time_point now) = 0;
  virtual const Proof& proof() const = 0;
};

class ServerCore {
 public:
  ServerCore(ControllerServerOptions chosen, drivers::ControllerHost& host, ModelPool& pool);

  // --- Constant after construction
  const ControllerServerOptions options;
  drivers::ControllerHost& host;
  ModelPool& pool;
  const v1::Schema schema;
  const std::chrono::nanoseconds silence;  // of a conversation before it is dropped
  const std::chrono::nanoseconds stalled;

  // --- Synchronise themselves
  Participants participants;
  const std::shared_ptr<ReceiveBudget> budget;
  machine::WorkerPool workers;
  machine::WorkerPool sender;  // one thread: messages leave in the order of Send()
  std::atomic<uint64_t> bytes_received = 0;
  std::atomic<uint64_t> bytes_sent = 0;
  std::atomic<uint32_t> conversations = 0;
  std::atomic<uint64_t> refusals = 0;
  std::atomic<bool> closing = false;

  // On the sender's thread.
  void Deliver(LearnerId to, const federation::Action& message);
  // Who was told that it is over, and whose conversation did not break since.
  std::set<LearnerId> Dismissed() const;
  // What was last said to it was lost with its conversation.
  void MayNotHaveHeard(LearnerId who);

  // A refusal, for the audit and nowhere else. Never under a lock.
  void Refuse(const std::string& peer, const std::string& name, const std::string& reason,
              const std::string& message);
  // Something granted, or done by an operator, for the audit: written however much is refused.
  // Never under a lock.
  void Note(const std::string& peer, const std::string& name, const std::string& reason,
            const std::string& message);
  // A refusal of whoever has this id.
  void RefuseKnown(LearnerId who, const std::string& reason, const std::string& message);
  void Say(const std::string& text) const;

  void Add(const std::shared_ptr<LiveStream>& stream);
  void Remove(const LiveStream* stream);
  std::vector<std::shared_ptr<LiveStream>> Streams() const;
  void Sweep();

  using Proof = rpc::Proof;
  Proof ProofOf(const grpc::CallbackServerContext& context) const;

 private:
  ModelPtr Transferred(const ModelPtr& model);
  std::optional<Denial> DenialOf(const Proof& proof) const;
  void AuditMessage(LearnerId to, const federation::Action& message);

  struct Rounded {  // for 16 bits, made once for several receivers
    std::weak_ptr<const Model> model;
    ModelPtr transferred;
  };
  std::vector<Rounded> rounded_;  // owned by the sender's thread; the latest last

  std::mutex audit_mutex_;  // one call at a time
  Clock::time_point audit_second_;
  uint32_t audits_ = 0;
  uint64_t unsaid_ = 0;

  mutable std::mutex dismissed_mutex_;
  std::set<LearnerId> dismissed_;

  mutable std::mutex streams_mutex_;
  std::map<const LiveStream*, std::weak_ptr<LiveStream>> streams_;
};

using CorePtr = std::shared_ptr<ServerCore>;

}  // namespace metis::rpc
