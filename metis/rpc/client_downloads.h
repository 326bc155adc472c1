// The models that the controller offers to a participant, on their way: at most two at once, a
// community model before evaluations and tests. A message is delivered when its model is whole.
// What has arrived of a model outlives a broken connection and an absent controller; models are
// known by their fingerprints. The participant's loop owns it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "metis/federation/action.h"
#include "metis/rpc/backoff.h"
#include "metis/rpc/client_stream.h"
#include "metis/rpc/client_upload.h"
#include "metis/wire/transfer.h"
#include "proto/metis/v1/federation.pb.h"

namespace metis::rpc {

class ClientDownloads {
 public:
  ClientDownloads(const TransferContext& context, LearnerId learner, Incarnation incarnation);

  // Models are received into its buffers from now on.
  void Attach(ModelPool& pool) { pool_ = &pool; }
  // A message with an offer. A community model replaces one that is not complete yet; a message
  // that waits already is not delivered twice.
  void Want(v1::ToParticipant message);
  void Cancel(const v1::UpdateId& evaluation);
  void Connected(const Connection& connection);
  void Disconnected();
  void Tick(Instant now);  // pauses that are over, transfers that stand still
  void Close();

 private:
  struct Wanted {
    uint64_t fingerprint = 0;
    std::vector<v1::ToParticipant> messages;  // that wait for this model; never empty
    std::optional<wire::ModelReceiver> partial;
    std::shared_ptr<RawStream> stream;
    Backoff backoff;
    Instant progress;
    Instant due;                 // without a stream: not before
    bool offered_again = false;  // since the stream was opened
    uint32_t spoiled = 0;        // how often it was whole, and not the announced one
    uint64_t furthest = 0;       // offset that was ever reached

    bool community() const;
  };
  using Place = std::list<Wanted>::iterator;

  // Forgets a message of the same subject; a model that nobody waits for any more with it.
  void Forget(const v1::ToParticipant& like, uint64_t except_model);
  void Pump();
  size_t active() const;
  void Begin(Wanted& wanted);
  void Received(Wanted& wanted, grpc::ByteBuffer& buffer);
  void Ended(Wanted& wanted, const v1::TransferEnd& end);
  void Complete(Wanted& wanted);
  void Deliver(const v1::ToParticipant& message, const ModelPtr& model);
  void TryAgain(Wanted& wanted, const std::string& why);
  void Remove(Wanted& wanted);
  Place Find(const Wanted& wanted);

  const TransferContext& context_;
  const LearnerId learner_;
  const Incarnation incarnation_;
  ModelPool* pool_ = nullptr;
  std::optional<Connection> connection_;
  wire::Encoding encoding_ = wire::Encoding::kRaw;  // of what is partly there
  std::list<Wanted> wanted_;                        // in the order of their messages
  // Parts of models that the controller did not know any more: it may offer them again.
  std::list<wire::ModelReceiver> orphans_;
  // The latest that arrived, kept for a while: a controller that has not heard so offers it again.
  ModelPtr arrived_;
  Instant arrived_at_;
};

}  // namespace metis::rpc
