#include "metis/service/controller_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "metis/core/display.h"
#include "metis/core/enum_name.h"
#include "metis/core/text.h"
#include "metis/core/version.h"
#include "metis/drivers/processes.h"
#include "metis/operations/status_board.h"
#include "metis/policy/policy.h"
#include "metis/report/audit_log.h"
#include "metis/report/controller_files.h"
#include "metis/report/part_done.h"
#include "metis/rpc/controller_server.h"
#include "metis/service/control_socket.h"
#include "metis/service/controller_dashboard.h"
#include "metis/service/controller_desk.h"
#include "metis/service/controller_storage.h"
#include "metis/service/controller_trust.h"
#include "metis/service/farewell.h"
#include "metis/store/kept_models.h"

namespace metis::service {
namespace {

namespace fs = std::filesystem;
using federation::Controller;

constexpr auto kLook = std::chrono::milliseconds(200);  // how often the operator's view is renewed
constexpr Duration kGrace = Duration::Seconds(5);

// "2024-05-17T09:30:00Z"
std::string TimeNow() {
  return FormatUtc(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
}

// What an operator sees of the federation, taken on its loop.
struct View {
  federation::Phase phase = federation::Phase::kWaiting;
  metis::Version version;
  uint64_t requests = 0;
  size_t live = 0;
  double part = 0;
  std::optional<report::TestPoint> latest_test;
  uint64_t tests = 0;
  store::TestedModel best;
};

class ControllerRun {
 public:
  ControllerRun(const ControllerOptions& options, const ControllerSetup& setup, Narrator& narrator)
      : options_(options),
        setup_(setup),
        narrator_(narrator),
        pool_(setup_.initial.model->schema()),
        board_(std::make_unique<operations::StatusBoard>(FactsOfStatus(setup_, options.run))) {
    narrator_.Begin(std::string(policy::NameOf(setup_.config.federation.policy)));
  }
  ~ControllerRun() {
    if (server_) server_->Shutdown(Duration());  // whoever calls must find the host
    narrator_.End();
  }
  ControllerRun(const ControllerRun&) = delete;
  ControllerRun& operator=(const ControllerRun&) = delete;

  Result<void> Open(ControllerTrust trust);
  // Whether the federation goes on once the process is started again; why, has been said then.
  bool Serve(const std::stop_token& stop);
  // Writes what the run came to; the summary.
  Result<report::Json> Conclude();
  bool failed() const { return failed_; }

 private:
  std::string Path(const char* name) const { return Text(options_.run, "/", name); }
  Result<void> Lock();
  Result<void> OpenDirectory();
  Result<void> OpenStorage();
  Result<void> OpenWriter();
  Result<void> OpenHost();
  Result<void> Listen();
  View Look();
  void Tell(const View& view);
  void KeepBest(const store::TestedModel& best);
  void Say(const std::string& text);
  void Show(const Controller& controller, const drivers::HostView& view);

  const ControllerOptions& options_;
  const ControllerSetup& setup_;
  Narrator& narrator_;
  ModelPool pool_;
  ControllerTrust trust_;
  std::optional<store::ProcessLock> lock_;  // of the run directory
  std::unique_ptr<report::AuditLog> audit_;
  std::unique_ptr<ControllerStorage> storage_;
  std::unique_ptr<report::RunWriter> writer_;
  const std::unique_ptr<operations::StatusBoard> board_;
  std::unique_ptr<drivers::BothRecorders> recorders_;
  std::optional<ControlSocket> control_;
  std::unique_ptr<rpc::ControllerServer> server_;  // outlives the host
  std::unique_ptr<drivers::ControllerProcess> host_;
  // Null: there is none. Ends last, once everything is written: it waits for whoever reads slowly.
  std::unique_ptr<dashboard::Dashboard> dashboard_;
  std::atomic<bool> finished_ = false;
  std::atomic<bool> deaf_ = false;    // the server hears nobody new any more
  std::atomic<bool> failed_ = false;  // the host handles nothing any more
  uint64_t tests_told_ = 0;
  std::optional<metis::Version> best_kept_, best_refused_;
};

Result<void> ControllerRun::Open(ControllerTrust trust) {
  trust_ = std::move(trust);
  Result<void> opened = OpenDirectory();
  if (opened) opened = OpenStorage();
  if (opened) opened = OpenWriter();
  if (opened) opened = OpenHost();
  if (opened) opened = Listen();
  return opened;
}

// Of a new run: whatever is needed to go on with it later.
Result<void> ControllerRun::OpenDirectory() {
  std::error_code absent;
  const bool begun = fs::exists(Path(report::kFederationFile), absent) || NeverNamed(options_.run);
  const report::DirectoryOptions its_options{.choose = "--run", .replace = ""};
  if (!begun) {
    Result<void> made =
        report::MakeRunDirectory(options_.run, report::kEventsFile, false, its_options);
    if (!made) return made;
  }
  // Before anything is written: another controller may be about to begin there.
  if (Result<void> ours = Lock(); !ours) return ours;
  bool in_vain = false;
  if (begun) {
    Result<bool> empty = BegunInVain(setup_, options_.run);
    if (!empty) return empty.error();
    in_vain = *empty;
  }
  if (!setup_.goes_on) {
    // One that ended before anything happened is begun anew.
    Result<std::unique_ptr<report::RunWriter>> writer =
        report::RunWriter::Create(options_.run, setup_.config_toml(), setup_.initial.model, in_vain,
                                  setup_.record, its_options);
    if (!writer) return writer.error();
    writer_ = *std::move(writer);
    if (Result<void> wrote = WriteSetup(setup_, options_.run); !wrote) return wrote;
  }
  Result<std::unique_ptr<report::AuditLog>> audit =
      report::AuditLog::Open(Path(report::kAuditFile));
  if (!audit) return audit.error();
  audit_ = *std::move(audit);
  return {};
}

Result<void> ControllerRun::Lock() {
  Result<store::ProcessLock> lock = LockRun(options_.run);
  if (!lock) return lock.error();
  lock_ = *std::move(lock);
  return {};
}

Result<void> ControllerRun::OpenStorage() {
  Result<std::unique_ptr<ControllerStorage>> storage =
      ControllerStorage::Open(setup_, options_.run, pool_);
  if (!storage) return storage.error();
  storage_ = *std::move(storage);
  return {};
}

Result<void> ControllerRun::OpenWriter() {
  if (writer_) return {};
  Result<std::unique_ptr<report::RunWriter>> writer =
      report::RunWriter::Continue(options_.run, storage_->log().events_before_snapshot(),
                                  setup_.initial.model, setup_.record, board_.get());
  if (!writer) return writer.error();
  writer_ = *std::move(writer);
  return {};
}

Result<void> ControllerRun::OpenHost() {
  drivers::ControllerHostOptions options;
  options.settings = setup_.config.federation;
  options.initial = setup_.initial.model;
  storage_->Furnish(options);
  if (setup_.config.storage.durability == store::Durability::kFull) {
    options.before_snapshot = [this] { return writer_->Sync(); };
  }
  options.before_event = [this] { return writer_->Ready(); };
  options.on_failure = [this](const std::string& why) {
    Say(Text(why, ". Nothing is lost: everything that was acknowledged is in the log"));
    failed_ = true;
  };
  options.watch = [this](const Controller& controller, const drivers::HostView& view) {
    Show(controller, view);
  };
  recorders_ = std::make_unique<drivers::BothRecorders>(writer_.get(), board_.get());
  Result<std::unique_ptr<drivers::ControllerProcess>> host =
      drivers::ControllerProcess::Open(std::move(options), pool_, storage_->log(), recorders_.get(),
                                       [this](const std::string& text) { Say(text); });
  if (!host) return host.error();
  host_ = *std::move(host);
  if (setup_.goes_on) {
    const View view = Look();
    Say(Text("going on at version ", view.version, " after ", view.requests,
             view.requests == 1 ? " commit" : " commits"));
    tests_told_ = view.tests;
  }
  return {};
}

Result<void> ControllerRun::Listen() {
  rpc::ControllerServerOptions options;
  options.settings = setup_.config.network;
  options.credentials = trust_.credentials;
  options.authority = trust_.authority.get();
  options.federation = setup_.federation;
  options.config_toml = setup_.config_toml();
  options.program = Text("metis ", ProgramVersion());
  options.heartbeat = setup_.config.federation.membership.heartbeat;
  options.keep = storage_->keep();
  options.audit = [this](const rpc::Refusal& refusal) {
    Result<void> kept = audit_->Append(TimeNow(), {{"peer", refusal.peer},
                                                   {"name", refusal.name},
                                                   {"reason", refusal.reason},
                                                   {"message", refusal.message}});
    if (!kept) Say(kept.error().message);
  };
  options.say = [this](const std::string& text) { Say(text); };
  options.on_deaf = [this] { deaf_ = true; };
  options.operators = MakeOperatorHooks(*board_, *host_, setup_);
  Result<ControlSocket> control = ControlSocket::Make(options_.run);
  if (!control) return control.error();
  control_.emplace(*std::move(control));
  options.control = control_->path();
  Result<rpc::HostPort> address = rpc::ParseHostPort(setup_.config.network.listen);
  if (!address) return address.error().In("network.listen");
  Result<std::unique_ptr<rpc::ControllerServer>> server =
      rpc::ControllerServer::Start(std::move(options), *host_, pool_);
  if (!server) return server.error();
  server_ = *std::move(server);
  const bool ipv6 = address->host.find(':') != std::string::npos;
  const std::string listens =
      Text(ipv6 ? "[" : "", address->host, ipv6 ? "]:" : ":", server_->port());
  narrator_.Say(Text("listening on ", listens, ", federation ", setup_.federation));
  host_->Start(*server_);  // before anybody can find us: from here on there is a status
  if (Result<void> announced = control_->Announce(); !announced) return announced;
  dashboard_ = StartDashboard(setup_.config.dashboard, *board_,
                              [this](const std::string& text) { narrator_.Say(text); });
  return report::WriteRunFile(Path(report::kAddressFile), listens + "\n");
}

// To the console, and to whoever looks at the status.
void ControllerRun::Say(const std::string& text) {
  narrator_.Say(text);
  board_->Say(host_ ? host_->now() : Instant(), text);
}

// On the loop.
void ControllerRun::Show(const Controller& controller, const drivers::HostView& view) {
  board_->Publish(controller, view, SurroundingsOf(*server_));
}

View ControllerRun::Look() {
  View view;
  host_->Inspect([&](const Controller& controller, Instant now) {
    view.phase = controller.phase();
    view.version = controller.version();
    view.requests = controller.statistics().requests;
    view.live = controller.membership().live_learners();
    view.part = report::PartDone(controller, now);
    const federation::StopCriteria& tests = controller.tests();
    view.tests = tests.tests();
    if (tests.best_model()) {
      view.best = {tests.best_version(), tests.best_model(), tests.best_accuracy()};
    }
    // The recorder belongs to the loop, as this does.
    if (!writer_->summary().tests().empty()) view.latest_test = writer_->summary().tests().back();
  });
  return view;
}

// New bests are kept as they come, so that they survive whatever happens to this process.
void ControllerRun::KeepBest(const store::TestedModel& best) {
  if (best.model == nullptr || best_kept_ == best.version) return;
  Result<void> kept =
      store::WriteTestedModel(Path(store::kBestModelFile), FactsOfModels(setup_), best);
  if (kept) {
    best_kept_ = best.version;
  } else if (std::exchange(best_refused_, best.version) != best.version) {
    Say(kept.error().message);  // once; it is tried again
  }
}

void ControllerRun::Tell(const View& view) {
  if (view.tests != tests_told_ && view.latest_test) {
    tests_told_ = view.tests;
    narrator_.Say(Text("version ", view.latest_test->version, ": accuracy ",
                       Fixed(view.latest_test->accuracy, 4), ", loss ",
                       Fixed(view.latest_test->loss, 4)));
  }
  narrator_.Update(view.part, [&] {
    return Text(NameOf(view.phase), ", ", view.live, " learners, version ", view.version, ", ",
                view.requests, " requests, ", server_->traffic().connected, " connected");
  });
}

// Until the end, a stop, the lack of descriptors, or a model that cannot be read.
bool ControllerRun::Serve(const std::stop_token& stop) {
  host_->OnFinished([this] { finished_ = true; });
  while (!finished_ && !stop.stop_requested() && !deaf_ && !failed_) {
    const View view = Look();
    Tell(view);
    KeepBest(view.best);
    std::this_thread::sleep_for(kLook);
  }
  if (finished_) {
    Tell(Look());
    SayFarewell(*host_, *server_, setup_.config.federation.membership.silence, stop,
                [this](const std::string& text) { Say(text); });
    if (dashboard_ && !stop.stop_requested()) dashboard_->ShowTheEnd();
  }
  server_->Shutdown(kGrace);
  host_->Stop();
  std::error_code ignored;
  fs::remove(Path(report::kAddressFile), ignored);
  control_.reset();
  if (failed_) {
    narrator_.Say(
        "ended because the disk did not give a model back. Start it again: it goes on once the "
        "file can be read; if it cannot be, restore the run directory from a copy");
    return true;
  }
  if (!deaf_ || finished_) return false;
  narrator_.Say(
      "out of file descriptors: nobody can connect any more. Start it again: it goes on; raise "
      "the limit (ulimit -n) or lower network.max_connections");
  return true;
}

Result<report::Json> ControllerRun::Conclude() {
  Result<void> written;
  report::Json summary;
  host_->Inspect([&](const Controller& controller, Instant now) {
    const rpc::Traffic traffic = server_->traffic();
    const report::RunFacts facts{
        .program_version = std::string(ProgramVersion()),
        .policy = std::string(policy::NameOf(setup_.config.federation.policy)),
        .seed = setup_.config.simulation.seed,
        .length = now - Instant(),
        .bytes_sent = traffic.bytes_sent + traffic.bytes_received,
        .complete = controller.phase() == federation::Phase::kFinished};
    store::TestedModel last{controller.version(), controller.community(), -1};
    const std::vector<report::TestPoint>& tests = writer_->summary().tests();
    if (!tests.empty() && tests.back().version == last.version) {
      last.accuracy = tests.back().accuracy;
    }
    written = store::WriteTestedModel(Path(store::kFinalModelFile), FactsOfModels(setup_), last);
    const federation::StopCriteria& stop = controller.tests();
    KeepBest({stop.best_version(), stop.best_model(), stop.best_accuracy()});
    if (written) written = writer_->Finish(facts, controller);
    summary = report::FormatSummary(facts, controller, writer_->summary());
  });
  if (!written) return written.error();
  return summary;
}

}  // namespace

Result<ControllerOutcome> RunController(const ControllerOptions& options,
                                        const ControllerSetup& setup, Narrator& narrator,
                                        const std::stop_token& stop) {
  Result<rpc::HostPort> address = rpc::ParseHostPort(setup.config.network.listen);
  if (!address) return address.error().In("network.listen");
  Result<ControllerTrust> trust = OpenTrust(options.tls, options.authority, address->host,
                                            [&](const std::string& text) { narrator.Warn(text); });
  if (!trust) return trust.error();
  ControllerRun run(options, setup, narrator);
  if (Result<void> opened = run.Open(*std::move(trust)); !opened) return opened.error();
  ControllerOutcome outcome;
  outcome.start_again = run.Serve(stop);
  if (run.failed()) return outcome;
  Result<report::Json> summary = run.Conclude();
  if (!summary) return summary.error();
  outcome.summary = *std::move(summary);
  return outcome;
}

}  // namespace metis::service
