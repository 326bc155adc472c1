// A model on its way from a participant (docs/wire.md): Open, Resume, chunks, End. What has arrived
// when it is cut off is parked with the participant, and the next Upload of the same goes on there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "metis/rpc/byte_buffers.h"
#include "metis/rpc/stream.h"

namespace metis::rpc {

class Upload final : public Stream<grpc::ByteBuffer, grpc::ByteBuffer>, public Receiving {
 public:
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Start(
      CorePtr core, grpc::CallbackServerContext* context);

  Upload(CorePtr core, grpc::CallbackServerContext* context);

  std::optional<PartialUpload> Surrender() override;
  void Sweep(Clock::time_point now) override;

 private:
  enum class State {
    kOpening,
    kWaiting,  // for its share of the budget
    kReceiving,
    kStoring,  // whole; a worker checks and keeps it
    kOver,
  };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void Ended() override;

  void Open(const ReceivedFrame& frame);
  void Granted(ReceiveBudget::Lease lease);
  void ResumeLocked();
  void Receive(const ReceivedFrame& frame);
  void Store(std::unique_ptr<wire::ModelReceiver> receiver);
  // The last words; `final`: trying again is of no use.
  void Conclude(bool ok, const std::string& message, bool final);
  std::shared_ptr<Upload> Self();

  // Set by the opening, and constant from then on.
  ParticipantPtr participant_;
  federation::UpdateReceived update_;

  // Guarded by mutex_.
  State state_ = State::kOpening;
  PartialUpload partial_;
  Clock::time_point progress_;
  grpc::ByteBuffer outgoing_;
  bool writing_ = false;
  std::optional<grpc::ByteBuffer> last_;  // written once the write under way is done
};

}  // namespace metis::rpc
