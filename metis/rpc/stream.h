// What every call of a participant has in common: it keeps itself alive until gRPC is done with it,
// and it is finished exactly once, whoever ends it first. Start... and Finish are called under the
// stream's own lock; gRPC calls its reactions from threads of its own, never from within them.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "metis/rpc/server_core.h"

namespace metis::rpc {

template <typename In, typename Out>
class Stream : public grpc::ServerBidiReactor<In, Out>,
               public LiveStream,
               public std::enable_shared_from_this<Stream<In, Out>> {
 public:
  void Drop() override {
    std::scoped_lock lock(mutex_);
    DropLocked();
  }

 protected:
  Stream(CorePtr core, grpc::CallbackServerContext* context)
      : core_(std::move(core)),
        peer_(context->peer()),
        proof_(core_->ProofOf(*context)),
        context_(context) {}

  // The owner of the first reference calls it, once.
  void Begin() {
    self_ = this->shared_from_this();
    core_->Add(self_);
    if (proof_.local) {
      return Fault("local",
                   "this socket is for operators of the controller: participants join at its "
                   "address",
                   grpc::StatusCode::PERMISSION_DENIED);
    }
    std::scoped_lock lock(mutex_);
    ReadLocked();
  }

  void ReadLocked() {
    if (!finished_) this->StartRead(&incoming_);
  }
  void FinishLocked(grpc::Status status) {
    if (!std::exchange(finished_, true)) this->Finish(std::move(status));
  }
  void DropLocked() {
    if (context_ != nullptr) context_->TryCancel();
  }
  void Fail(grpc::StatusCode code, const std::string& message) {
    std::scoped_lock lock(mutex_);
    FinishLocked({code, message});
  }
  // For the audit. Not under the lock.
  void Audit(const std::string& reason, const std::string& message) {
    std::string name;
    {
      std::scoped_lock lock(mutex_);
      name = name_;
    }
    core_->Refuse(peer_, name, reason, message);
  }
  // The peer broke the rules: audited, and the call ends with the same words.
  void Fault(const std::string& reason, const std::string& message,
             grpc::StatusCode code = grpc::StatusCode::INVALID_ARGUMENT) {
    Audit(reason, message);
    Fail(code, message);
  }
  void SetName(const std::string& name) {
    std::scoped_lock lock(mutex_);
    name_ = name;
  }

  // Lets go of what it holds of others; gRPC is done with it.
  virtual void Ended() = 0;

  const CorePtr core_;
  const std::string peer_;  // address
  const ServerCore::Proof proof_;

  In incoming_;  // of the read under way

  std::mutex mutex_;
  bool finished_ = false;
  bool cancelled_ = false;  // by either side, or with its connection
  std::string name_;        // of the peer, once it is known

 private:
  void OnCancel() final {
    std::scoped_lock lock(mutex_);
    cancelled_ = true;
    FinishLocked(grpc::Status::CANCELLED);
  }
  void OnDone() final {
    {
      std::scoped_lock lock(mutex_);
      context_ = nullptr;
      finished_ = true;
    }
    Ended();
    core_->Remove(this);
    std::shared_ptr<Stream> last = std::move(self_);
  }

  grpc::CallbackServerContext* context_;  // null once gRPC is done
  std::shared_ptr<Stream> self_;
};

}  // namespace metis::rpc
