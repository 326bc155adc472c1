// A model on its way from a participant (docs/wire.md): Open, Resume, chunks, End. What has arrived
// when it is cut off is parked with the participant, and the next Upload of the same goes on there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "metis/rpc/byte_buffers.h"
#include "metis/rpc/stream.h"
#include "proto/metis/v1/federation.pb.h"

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
    kStoring,  // whole; a worker checks and keeps it, and the controller's loop takes it
    kOver,
  };

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void Ended() override;

  std::string WhereCutOff();
  void Open(const ReceivedFrame& frame);
  void BeginReceiving(const UploadKey& key);
  void Granted(ReceiveBudget::Lease lease);
  void ResumeLocked();
  void Receive(const ReceivedFrame& frame);
  // `work` is done by a worker, unless an update of the same participant is being stored.
  void BeginStoring(std::function<void(Upload&)> work);
  void Check(const UploadKey& key, std::unique_ptr<wire::ModelReceiver> receiver);
  void Store(const ModelPtr& model);
  // The last words.
  void Conclude(const v1::TransferEnd& end);
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
