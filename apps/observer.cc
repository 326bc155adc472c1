// metis-observer: tests a federation's community models on data that no learner trains on.
#include <CLI/CLI.hpp>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>

#include "apps/cli.h"
#include "apps/console.h"
#include "apps/data_options.h"
#include "apps/interrupts.h"
#include "apps/participant_options.h"
#include "apps/site.h"
#include "metis/core/confusion.h"
#include "metis/core/text.h"
#include "metis/drivers/processes.h"
#include "metis/train/runtime.h"

namespace metis::apps {
namespace {

constexpr Duration kLook = Duration::Milliseconds(200);
constexpr Duration kGrace = Duration::Seconds(5);

struct Options {
  site::ParticipantOptions participant;
  data::DataSource data;
  bool whole = false;
};

// Prints every test on its way out.
class TestPrinter final : public drivers::ParticipantTransport {
 public:
  explicit TestPrinter(drivers::ParticipantTransport& next) : next_(next) {}

  void Send(federation::Event event) override {
    if (const auto* tested = std::get_if<federation::CommunityTested>(&event)) {
      std::cout << "version " << tested->version.value() << ": " << tested->counts.headline_name()
                << " " << Fixed(tested->counts.Headline(), 4) << ", loss " << Fixed(tested->loss, 4)
                << std::endl;
    }
    next_.Send(std::move(event));
  }

 private:
  drivers::ParticipantTransport& next_;
};

Result<std::string> Wait(drivers::ObserverProcess& host,
                         const std::function<std::optional<Error>()>& gone,
                         const Interrupts& interrupts) {
  bool left = false;
  for (;;) {
    if (std::optional<Result<std::string>> ended = host.WaitFor(kLook)) return *std::move(ended);
    if (std::optional<Error> error = gone()) return *std::move(error);
    if (interrupts.asked() && !left) host.Leave();
    left = interrupts.asked();
  }
}

Result<std::string> Observe(const Options& options, Console& console,
                            const Interrupts& interrupts) {
  Result<site::Joined> joined = site::JoinFederation(
      options.participant, federation::Role::kObserver, console, interrupts.token());
  if (!joined) return joined.error();
  const rpc::Welcome& welcome = joined->client->welcome();
  Result<ObserverSite> site = OpenObserverSite(options.data, options.whole, joined->config);
  if (!site) return site.error();
  if (const std::string differs = site::SchemaDifference(*welcome.schema, *site->schema);
      !differs.empty()) {
    return Invalid(Text("the federation trains another model than ", options.data.what,
                        " gives here: is it the right data set?\n", differs));
  }
  console.Say(Text(joined->name, ": ", site->description));

  drivers::ObserverHostOptions host_options;
  host_options.declared = {.learner = welcome.learner,
                           .incarnation = joined->incarnation,
                           .role = federation::Role::kObserver,
                           .name = joined->name,
                           .group = "",
                           .training_examples = 0,
                           .validation_counts = site->test_set,
                           .schema_hash = site->schema->hash()};
  host_options.retry = joined->config.federation.retry;
  TestPrinter printer(*joined->client);
  drivers::ObserverProcess host(std::move(host_options), std::move(site->testers), printer,
                                [&](const std::string& text) { console.Say(text); });
  std::mutex mutex;
  std::optional<Error> gone;
  joined->client->Attach(host, *site->pool, [&](const Error& error) {
    std::lock_guard lock(mutex);
    if (!gone) gone = error;
  });
  host.Start();
  Result<std::string> ended = Wait(
      host,
      [&] {
        std::lock_guard lock(mutex);
        return gone;
      },
      interrupts);
  joined->client->Close(kGrace);
  return ended;
}

int Main(int argc, const char* const* argv) {
  Options options;
  CLI::App app(
      "Joins a federation over the network as its observer: tests the community models on data\n"
      "that no learner trains on, and tells the controller counts and loss.",
      "metis observer");
  app.footer(
      "Examples:\n"
      "  metis observer --enrol TOKEN --data fashion-mnist     (TOKEN of `metis ca invite`)\n"
      "  metis observer --join controller.example:7740 --data fashion-mnist \\\n"
      "    --ca ca.pem --certificate observer.pem --key observer.key\n"
      "  metis observer --join 127.0.0.1:7740 --insecure --name observer --data test.npz "
      "--whole\n\n"
      "Exit codes: 0 the federation has ended, or Ctrl-C; 1 failed or refused, 2 wrong command\n"
      "line.");
  AddParticipantOptions(app, options.participant);
  app.add_option("--data", options.data.what,
                 "What is tested on: the test part of a known set; of a file the part that the\n"
                 "federation holds out (data.test_fraction); builtin");
  app.add_flag("--whole", options.whole, "Test on all of the file");
  AddLoadOptions(app, options.data);
  AddVersionOption(app);
  if (std::optional<int> code = ParseArguments(app, argc, argv)) return *code;
  if (site::MissesController(options.participant, federation::Role::kObserver)) {
    return Complain("--join is missing: the controller's HOST:PORT, or --enrol with an invitation",
                    kUsage);
  }
  if (options.data.what.empty()) {
    return Complain("--data is missing: what are models tested on?", kUsage);
  }
  const Interrupts interrupts;
  train::KeepFreedMemory();
  Console console;
  Result<std::string> ended = Observe(options, console, interrupts);
  if (!ended && interrupts.asked()) return Finish();
  if (!ended) return Complain(ended.error().message);
  std::cout << *ended << "\n";
  return Finish();
}

}  // namespace
}  // namespace metis::apps

int main(int argc, char** argv) { return metis::apps::Main(argc, argv); }
