#include "metis/rpc/grpc_log.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace metis::rpc {
namespace {

// gRPC's log is one for the process, so who listens to it is too. Never destroyed: gRPC's threads
// may write a line when the process ends.
struct Listeners {
  std::mutex mutex;
  std::set<const GrpcLog::Hear*> all;
};

Listeners& TheListeners() {
  static Listeners* const listeners = new Listeners;
  return *listeners;
}

void Hook(gpr_log_func_args* line) {
  if (line->severity != GPR_LOG_SEVERITY_ERROR) return;
  Listeners& listeners = TheListeners();
  std::scoped_lock lock(listeners.mutex);
  for (const GrpcLog::Hear* hear : listeners.all) (*hear)(line->message);
}

// gRPC takes and frees a buffer of up to some MB for every read. The C library would return each to
// the system, and fault its pages in again for the next: a fifth of the time of a transfer.
void KeepBuffers() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace

GrpcLog::GrpcLog(Hear hear) : hear_(std::move(hear)) {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(Hook);
    grpc_init();  // and never shut down: its pollers would hold that up for 10 s
    KeepBuffers();
  });
  Listeners& listeners = TheListeners();
  std::scoped_lock lock(listeners.mutex);
  listeners.all.insert(&hear_);
}

GrpcLog::~GrpcLog() {
  Listeners& listeners = TheListeners();
  std::scoped_lock lock(listeners.mutex);
  listeners.all.erase(&hear_);
}

// "Handshake failed with fatal error SSL_ERROR_SSL: error:...:SSL routines::wrong version number."
std::string HandshakeFailure(std::string_view line) {
  if (line.find("andshake failed") == line.npos) return "";
  std::string_view why = line;
  if (const size_t place = why.rfind("SSL routines:"); place != why.npos) {
    why.remove_prefix(place);
    while (!why.empty() && why.find(':') != why.npos) why.remove_prefix(why.find(':') + 1);
  }
  while (!why.empty() && (why.back() == '.' || why.back() == ' ')) why.remove_suffix(1);
  return std::string(why);
}

}  // namespace metis::rpc
