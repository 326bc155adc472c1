#include "metis/rpc/operations_service.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "metis/core/enum_name.h"
#include "metis/core/text.h"

namespace metis::rpc {
namespace {

using federation::OperatorCommand;

constexpr size_t kPartBytes = size_t{1} << 20;

std::string NameOf(const ServerCore::Proof& proof) {
  return proof.names.empty() ? "" : proof.names.front();
}

grpc::Status StatusOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalid:
      return {grpc::StatusCode::FAILED_PRECONDITION, error.message};
    case ErrorCode::kNotFound:
      return {grpc::StatusCode::NOT_FOUND, error.message};
    case ErrorCode::kUnavailable:
      return {grpc::StatusCode::ABORTED, error.message};
  }
  return {grpc::StatusCode::INTERNAL, error.message};
}

std::optional<OperatorCommand::Kind> KindOf(v1::CommandRequest::Kind kind) {
  switch (kind) {
    case v1::CommandRequest::PAUSE:
      return OperatorCommand::Kind::kPause;
    case v1::CommandRequest::RESUME:
      return OperatorCommand::Kind::kResume;
    case v1::CommandRequest::STOP:
      return OperatorCommand::Kind::kStop;
    case v1::CommandRequest::WITHDRAW:
      return OperatorCommand::Kind::kWithdraw;
    default:
      return std::nullopt;
  }
}

// A command whose answer comes from the controller's loop, or never, if that ends before.
class PendingCommand {
 public:
  PendingCommand(CorePtr core, std::string peer, std::string name, std::string what,
                 grpc::ServerUnaryReactor* reactor, v1::CommandReply* reply)
      : core_(std::move(core)),
        peer_(std::move(peer)),
        name_(std::move(name)),
        what_(std::move(what)),
        reactor_(reactor),
        reply_(reply) {}
  ~PendingCommand() {
    if (reactor_ == nullptr) return;
    reactor_->Finish({grpc::StatusCode::ABORTED, "the controller is ending: nothing has changed"});
  }

  void Answer(const Result<drivers::Commanded>& outcome) {
    core_->Note(peer_, name_, "command",
                Text(what_, ": ", outcome ? outcome->message : outcome.error().message));
    grpc::Status status;
    if (outcome) {
      reply_->set_message(outcome->message);
      reply_->set_version(outcome->version.value());
    } else {
      status = StatusOf(outcome.error());
    }
    std::exchange(reactor_, nullptr)->Finish(status);
  }

 private:
  const CorePtr core_;
  const std::string peer_;
  const std::string name_;
  const std::string what_;
  grpc::ServerUnaryReactor* reactor_;  // null once it was answered
  v1::CommandReply* const reply_;
};

// One that is over before it begins.
class RefusedExport final : public grpc::ServerWriteReactor<v1::ExportPart> {
 public:
  explicit RefusedExport(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

// A model on its way to an operator, a part at a time, so that a slow reader costs one part.
class ExportCall final : public grpc::ServerWriteReactor<v1::ExportPart>,
                         public LiveStream,
                         public std::enable_shared_from_this<ExportCall> {
 public:
  ExportCall(CorePtr core, grpc::CallbackServerContext* context, Proof proof)
      : core_(std::move(core)),
        peer_(context->peer()),
        proof_(std::move(proof)),
        context_(context),
        progress_(Clock::now()) {}

  void Begin(bool best) {
    self_ = shared_from_this();
    core_->Add(self_);
    core_->options.operators.export_model(best, [weak = weak_from_this()](
                                                    Result<ExportedModel> exported) {
      // Not here: this is the controller's loop, and a fingerprint is a look at the whole model.
      std::shared_ptr<ExportCall> self = weak.lock();
      if (!self) return;
      self->core_->workers.Post([self, exported = std::move(exported)] { self->Send(exported); });
    });
  }

  void Sweep(Clock::time_point now) override {
    {
      std::scoped_lock lock(mutex_);
      if (finished_ || now - progress_ < core_->stalled) return;
      progress_ = now;
      DropLocked();
    }
    core_->Refuse(peer_, "", "stalled",
                  Text("an export made no progress for ", core_->options.settings.stalled,
                       " and is dropped"));
  }
  void Drop() override {
    std::scoped_lock lock(mutex_);
    DropLocked();
  }
  void Deny(const Denial& denial, Clock::time_point) override {
    {
      std::scoped_lock lock(mutex_);
      if (finished_) return DropLocked();
      FinishLocked({denial.code, denial.message});
    }
    core_->Refuse(peer_, NameOf(proof_), denial.reason, denial.message);
  }
  const Proof& proof() const override { return proof_; }

 private:
  void Send(const Result<ExportedModel>& exported) {
    const uint64_t fingerprint = exported ? exported->model->Fingerprint() : 0;
    std::scoped_lock lock(mutex_);
    if (!exported) return FinishLocked(StatusOf(exported.error()));
    model_ = exported->model;
    part_.set_facts_json(exported->facts_json);
    part_.set_schema_json(exported->schema_json);
    part_.set_fingerprint(fingerprint);
    progress_ = Clock::now();
    NextLocked();
  }

  void NextLocked() {
    const std::span<const std::byte> bytes = model_->bytes().subspan(offset_);
    const size_t size = std::min(bytes.size(), kPartBytes);
    part_.set_data(bytes.data(), size);
    offset_ += size;
    if (!finished_) StartWrite(&part_);
  }

  void OnWriteDone(bool ok) override {
    std::scoped_lock lock(mutex_);
    if (!ok) return FinishLocked({grpc::StatusCode::UNAVAILABLE, "the operator is gone"});
    core_->bytes_sent += part_.ByteSizeLong();
    progress_ = Clock::now();
    part_.Clear();
    if (offset_ == model_->bytes().size()) return FinishLocked(grpc::Status::OK);
    NextLocked();
  }
  void OnCancel() override {
    std::scoped_lock lock(mutex_);
    FinishLocked(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    {
      std::scoped_lock lock(mutex_);
      context_ = nullptr;
      finished_ = true;
    }
    core_->Remove(this);
    std::shared_ptr<ExportCall> last = std::move(self_);
  }

  void FinishLocked(const grpc::Status& status) {
    if (!std::exchange(finished_, true)) Finish(status);
  }
  void DropLocked() {
    if (context_ != nullptr) context_->TryCancel();
  }

  const CorePtr core_;
  const std::string peer_;
  const Proof proof_;
  std::shared_ptr<ExportCall> self_;

  std::mutex mutex_;
  grpc::CallbackServerContext* context_;  // null once gRPC is done
  bool finished_ = false;
  Clock::time_point progress_;
  ModelPtr model_;
  size_t offset_ = 0;
  v1::ExportPart part_;  // being written
};

}  // namespace

grpc::Status OperationsService::Admit(const grpc::CallbackServerContext& context,
                                      const char* what) const {
  const ServerCore::Proof proof = core_->ProofOf(context);
  if (proof.MayOperate()) return grpc::Status::OK;
  const std::string name = NameOf(proof);
  if (proof.denied) {
    core_->Refuse(context.peer(), name, proof.denied->reason, proof.denied->message);
    return {proof.denied->code, proof.denied->message};
  }
  const std::string message =
      Text(name.empty() ? "you" : name, " may not operate this federation (", what,
           "): that is for its controller's own machine, or a certificate of the role admin");
  core_->Refuse(context.peer(), name, "role", message);
  return {grpc::StatusCode::PERMISSION_DENIED, message};
}

grpc::ServerUnaryReactor* OperationsService::Status(grpc::CallbackServerContext* context,
                                                    const v1::StatusRequest*,
                                                    v1::StatusReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  grpc::Status admitted = Admit(*context, "status");
  if (admitted.ok() && !core_->options.operators.status) {
    admitted = {grpc::StatusCode::UNIMPLEMENTED, "this controller shows no status"};
  }
  if (admitted.ok()) reply->set_json(core_->options.operators.status());
  reactor->Finish(admitted);
  return reactor;
}

grpc::ServerUnaryReactor* OperationsService::Command(grpc::CallbackServerContext* context,
                                                     const v1::CommandRequest* request,
                                                     v1::CommandReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::optional<OperatorCommand::Kind> kind = KindOf(request->kind());
  const std::string word = kind ? std::string(metis::NameOf(*kind)) : "a command";
  grpc::Status admitted = Admit(*context, word.c_str());
  if (admitted.ok() && !kind) {
    admitted = {grpc::StatusCode::INVALID_ARGUMENT,
                Text("this controller knows no command of number ",
                     static_cast<int>(request->kind()), ": is it older than your program?")};
  }
  if (!admitted.ok()) {
    reactor->Finish(admitted);
    return reactor;
  }
  const std::string what = request->name().empty() ? word : Text(word, " ", request->name());
  auto pending = std::make_shared<PendingCommand>(
      core_, context->peer(), NameOf(core_->ProofOf(*context)), what, reactor, reply);
  core_->host.Command(*kind, request->name(),
                      [pending](Result<drivers::Commanded> outcome) { pending->Answer(outcome); });
  return reactor;
}

grpc::ServerWriteReactor<v1::ExportPart>* OperationsService::Export(
    grpc::CallbackServerContext* context, const v1::ExportRequest* request) {
  grpc::Status admitted = Admit(*context, "export");
  if (admitted.ok() && !core_->options.operators.export_model) {
    admitted = {grpc::StatusCode::UNIMPLEMENTED, "this controller exports no models"};
  }
  if (!admitted.ok()) return new RefusedExport(admitted);
  core_->Note(context->peer(), NameOf(core_->ProofOf(*context)), "export",
              request->best() ? "the best community model" : "the community model");
  auto call = std::make_shared<ExportCall>(core_, context, core_->ProofOf(*context));
  call->Begin(request->best());
  return call.get();
}

}  // namespace metis::rpc
