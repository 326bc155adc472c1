// metis-doctor: looks whether a controller or a site is ready, and says what to do where it is not.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli.h"
#include "apps/data_options.h"
#include "apps/tls_options.h"
#include "apps/user_directories.h"
#include "metis/core/text.h"
#include "metis/doctor/checks.h"
#include "metis/doctor/gather.h"
#include "metis/report/controller_files.h"
#include "metis/service/controller_setup.h"
#include "metis/site/enrolment.h"

namespace metis::apps {
namespace {

struct Options {
  service::ControllerOptions controller;  // FILE, --set, --model, --run, --record, certificates
  std::string listen;
  std::string join;
  std::string authority;
  std::string state;
  data::DataSource data;
  bool json = false;

  // Without a word about a site it is about a controller.
  bool for_controller() const {
    return !controller.file.empty() || !controller.run.empty() || !listen.empty() ||
           !authority.empty() || (join.empty() && data.what.empty() && state.empty());
  }
  const rpc::TlsFiles& given() const { return controller.tls.files; }
  bool insecure() const { return controller.tls.insecure; }
};

int64_t NowSeconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

void Append(doctor::Findings& all, doctor::Findings more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

doctor::ControllerFiles FilesOfController() {
  return {.state = report::kStateFile,
          .blobs = report::kBlobsDirectory,
          .address = report::kAddressFile,
          .needed = {report::kInitialFile, report::kFederationFile},
          .never_named = service::NeverNamed};
}

doctor::DataFacts GatherData(const data::DataSource& source) {
  const Result<data::LoadedData> loaded = data::LoadData(source);
  if (!loaded) {
    doctor::DataFacts facts;
    facts.what = source.what;
    facts.read = loaded.error();
    return facts;
  }
  return doctor::DescribeData(source.what, loaded->train, loaded->test ? &*loaded->test : nullptr,
                              source.options.coarse_labels);
}

// What the controller would begin with, as far as it is known.
struct Beginning {
  doctor::ConfigFacts settings;
  std::optional<store::ModelFile> model;
  std::optional<std::string> identity;  // of FILE and --model, where they are given
};

Beginning Begin(const Options& options, const doctor::RunFacts* run) {
  service::ControllerOptions controller = options.controller;
  using State = doctor::RunFacts::State;
  const bool goes_on =
      run != nullptr && (run->state == State::kWhole || run->state == State::kInUse ||
                         run->state == State::kFinished);
  Beginning beginning;
  beginning.settings.source = !controller.file.empty() ? controller.file
                              : goes_on                ? Text(controller.run, "/config.toml")
                                                       : "default settings";
  Result<service::ControllerSetup> setup = service::ReadSetup(controller);
  if (setup) {
    beginning.settings.config = setup->config;
    if (!controller.file.empty() || !controller.model.empty()) {
      beginning.identity = setup->identity();
    }
    beginning.model = std::move(setup->initial);
    return beginning;
  }
  // Without --model the settings may be good nevertheless: only their model is not known.
  if (controller.model.empty() && !goes_on) {
    beginning.settings.config = controller.file.empty()
                                    ? config::ParseConfig("", "defaults", controller.overrides)
                                    : config::ReadConfig(controller.file, controller.overrides);
  } else {
    beginning.settings.config = setup.error();
  }
  return beginning;
}

void LookAtMachine(const Options& options, const Beginning& beginning, doctor::Findings& findings) {
  const config::Config config =
      beginning.settings.config ? *beginning.settings.config : config::DefaultConfig();
  std::optional<doctor::Needs> needs;
  if (beginning.model) {
    needs = doctor::ForecastNeeds(config, beginning.model->model->bytes().size(),
                                  options.controller.record == report::Record::kReplayable);
  }
  Append(findings, doctor::CheckFileLimit(doctor::GatherFileLimit(config.network.max_connections)));
  doctor::DiskFacts disk =
      doctor::GatherDisk(options.controller.run.empty() ? "." : options.controller.run);
  doctor::MemoryFacts memory = doctor::GatherMemory();
  if (needs) {
    disk.needed = needs->disk;
    memory.needed = needs->memory;
  }
  Append(findings, doctor::CheckDisk(disk));
  Append(findings, doctor::CheckMemory(memory));
}

void LookAtController(const Options& options, doctor::Findings& findings, Beginning& beginning) {
  std::optional<doctor::RunFacts> run;
  if (!options.controller.run.empty())
    run = doctor::GatherRun(options.controller.run, FilesOfController());
  beginning = Begin(options, run ? &*run : nullptr);
  Append(findings, doctor::CheckConfig(beginning.settings));
  if (run) Append(findings, doctor::CheckRun(*run, beginning.identity, beginning.settings.source));
  LookAtMachine(options, beginning, findings);
  Append(findings, doctor::CheckTimeService(doctor::HasTimeService()));
  if (!beginning.settings.config) return;
  const std::string& listen = (*beginning.settings.config).network.listen;
  Append(findings, doctor::CheckListen(doctor::GatherListen(listen), run ? &*run : nullptr));
  const Result<rpc::HostPort> address = rpc::ParseHostPort(listen);
  if (address && !rpc::IsLoopback(address->host) && options.authority.empty() &&
      options.given().certificate.empty()) {
    Append(findings, doctor::CheckNoCertificates(listen));
  }
}

// The files of whoever this is; empty ones where it has none yet.
rpc::TlsFiles LookAtCertificates(const Options& options, doctor::Findings& findings) {
  rpc::TlsFiles files = options.given();
  bool there = !files.certificate.empty() || !files.key.empty();
  if (!options.authority.empty()) {
    const doctor::AuthorityFacts authority = doctor::GatherAuthority(options.authority);
    Append(findings, doctor::CheckAuthority(authority));
    files = doctor::FilesOfAuthority(options.authority);
    there = authority.missing.empty();
  } else if (!options.state.empty()) {
    const doctor::StateFacts state = doctor::GatherState(options.state);
    Append(findings, doctor::CheckState(state));
    if (state.enrolled) files = doctor::FilesOfState(options.state);
    there = there || state.enrolled;
  }
  if (!there) return {files.ca, "", ""};
  const bool for_server = options.for_controller();
  Append(findings,
         doctor::CheckCertificate(doctor::GatherCertificate(files, for_server), NowSeconds()));
  return files;
}

void LookAtSite(const Options& options, const rpc::TlsFiles& files, const store::ModelFacts& model,
                doctor::Findings& findings) {
  if (!options.for_controller())
    Append(findings, doctor::CheckTimeService(doctor::HasTimeService()));
  if (!options.join.empty()) {
    const doctor::JoinFacts join = doctor::GatherJoin(options.join, files, options.insecure());
    Append(findings, doctor::CheckJoin(join, NowSeconds()));
    const bool can_ask = options.insecure() || (!join.our_name.empty() && join.refusal.empty());
    if (join.reach == doctor::JoinFacts::Reach::kReached && can_ask) {
      Append(findings,
             doctor::CheckClock(doctor::GatherClock(options.join, files, options.insecure())));
    }
  }
  if (!options.data.what.empty()) {
    doctor::DataFacts data = GatherData(options.data);
    data.model = model;
    Append(findings, doctor::CheckData(data));
  }
}

// At a site that has enrolled, what was left of that, unless something else is named.
Result<void> FindState(Options& options) {
  if (options.for_controller() || !options.state.empty() || options.insecure() ||
      !options.given().certificate.empty()) {
    return {};
  }
  for (const authority::Role role : {authority::Role::kLearner, authority::Role::kObserver}) {
    Result<std::optional<site::Membership>> found =
        site::FindMembership(role, options.join, "", {.named = "", .of_user = StatesOfUser()});
    if (!found) return found.error();
    if (!*found) continue;
    options.state = (*found)->state;
    break;
  }
  return {};
}

// The model that a site's data are compared with, where it is named.
Result<store::ModelFacts> ModelOf(const Options& options, const Beginning& beginning) {
  if (beginning.model) return beginning.model->facts;
  if (options.controller.model.empty()) return store::ModelFacts();
  Result<store::ModelFile> file = store::ReadModelFile(options.controller.model);
  if (!file) return file.error();
  return file->facts;
}

void AddOptions(CLI::App& app, Options& options, std::string& record,
                std::vector<std::string>& assignments) {
  app.add_option("FILE", options.controller.file, "A controller's configuration");
  app.add_option("--run", options.controller.run, "A controller's run directory, new or not");
  app.add_option(
      "--model", options.controller.model,
      "The initial model: what it needs on disk and in memory, and whether --data fit it");
  app.add_option("--record", record, "As for `metis controller`: what is kept decides the space")
      ->check(CLI::IsMember({"replayable", "light"}));
  app.add_option("--listen", options.listen, "HOST:PORT to listen on (network.listen)");
  app.add_option("--set", assignments, "Any key of the configuration: section.key=value")
      ->allow_extra_args(false);
  app.add_option("--authority", options.authority, "The directory of `metis ca init`");
  app.add_option("--join", options.join, "A site's way to the controller: HOST:PORT");
  app.add_option(
      "--state", options.state,
      "A site's state directory, with its certificate; default: that of this user's enrolment");
  AddTlsOptions(app, options.controller.tls);
  app.add_option("--data", options.data.what,
                 "A site's data: a name of `metis data list`, or a file");
  AddLoadOptions(app, options.data);
  app.add_flag("--json", options.json, "Print the findings as JSON");
  AddVersionOption(app);
}

Result<doctor::Findings> Examine(const Options& options) {
  doctor::Findings findings;
  Beginning beginning;
  if (options.for_controller()) LookAtController(options, findings, beginning);
  const rpc::TlsFiles files = LookAtCertificates(options, findings);
  Result<store::ModelFacts> model = ModelOf(options, beginning);
  if (!model) return model.error();
  LookAtSite(options, files, *model, findings);
  return findings;
}

int Main(int argc, const char* const* argv) {
  Options options;
  std::string record;
  std::vector<std::string> assignments;
  CLI::App app(
      "Looks whether a controller or a site is ready: settings, run directory, limits, space, "
      "clock,\nport, certificates, the way to the controller, data. Says of everything that is not "
      "right what\nit means and what to do. Changes nothing.",
      "metis doctor");
  app.footer(
      "Examples:\n"
      "  metis doctor federation.toml --model initial.metis --run runs/first \\\n"
      "    --listen 0.0.0.0:7740 --authority authority         (before a controller is started)\n"
      "  metis doctor --run runs/first                         (one that runs, or is to go on)\n"
      "  metis doctor --join fed.example.org:7740 --data scans.npz --state STATE     (at a "
      "site)\n\n"
      "Exit codes: 0 no failures, 1 failures, 2 wrong command line. Run it as the user that the\n"
      "program will run as: sudo -u metis metis doctor ...");
  AddOptions(app, options, record, assignments);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (record == "replayable") options.controller.record = report::Record::kReplayable;
  if (!options.listen.empty()) {
    options.controller.overrides.push_back({"network.listen", options.listen, "--listen"});
  }
  for (const std::string& text : assignments) {
    Result<config::Assignment> assignment = config::ParseAssignment(text);
    if (!assignment) return Complain(assignment.error().message, kUsage);
    options.controller.overrides.push_back(*std::move(assignment));
  }
  if (Result<void> found = FindState(options); !found) return Complain(found.error().message);
  Result<doctor::Findings> findings = Examine(options);
  if (!findings) return Complain(findings.error().message);
  std::cout << (options.json ? doctor::FormatFindingsJson(*findings)
                             : doctor::FormatFindings(*findings));
  return Finish(doctor::AnyFailure(*findings) ? kFailed : kOk);
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
