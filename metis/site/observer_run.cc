#include "metis/site/observer_run.h"

#include <optional>
#include <utility>

#include "metis/core/text.h"
#include "metis/drivers/processes.h"
#include "metis/site/failure.h"
#include "metis/site/site.h"

namespace metis::site {
namespace {

// Tells of every test on its way out.
class TestTeller final : public drivers::ParticipantTransport {
 public:
  TestTeller(drivers::ParticipantTransport& next,
             const std::function<void(const federation::CommunityTested&)>& on_test)
      : next_(next), on_test_(on_test) {}

  void Send(federation::Event event) override {
    if (const auto* tested = std::get_if<federation::CommunityTested>(&event)) on_test_(*tested);
    next_.Send(std::move(event));
  }

 private:
  drivers::ParticipantTransport& next_;
  const std::function<void(const federation::CommunityTested&)>& on_test_;
};

Result<std::string> Wait(drivers::ObserverProcess& host, const Failure& gone,
                         const std::stop_token& stop) {
  bool left = false;
  for (;;) {
    if (std::optional<Result<std::string>> ended = host.WaitFor(kLook)) return *std::move(ended);
    if (std::optional<Error> error = gone.Get()) return *std::move(error);
    if (stop.stop_requested() && !left) host.Leave();
    left = stop.stop_requested();
  }
}

}  // namespace

Result<std::string> RunObserver(
    const ObserverOptions& options,
    const std::function<void(const federation::CommunityTested&)>& on_test, Narrator& narrator,
    const std::stop_token& stop) {
  Result<Joined> joined =
      JoinFederation(options.participant, federation::Role::kObserver, narrator, stop);
  if (!joined) return joined.error();
  const rpc::Welcome& welcome = joined->client->welcome();
  Result<ObserverSite> site = OpenObserverSite(options.data, options.whole, joined->config);
  if (!site) return site.error();
  if (const std::string differs = SchemaDifference(*welcome.schema, *site->schema);
      !differs.empty()) {
    return Invalid(Text("the federation trains another model than ", options.data.what,
                        " gives here: is it the right data set?\n", differs));
  }
  narrator.Say(Text(joined->name, ": ", site->description));

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
  TestTeller teller(*joined->client, on_test);
  drivers::ObserverProcess host(std::move(host_options), std::move(site->testers), teller,
                                [&](const std::string& text) { narrator.Say(text); });
  Failure gone;
  joined->client->Attach(host, *site->pool, [&](const Error& error) { gone.Set(error); });
  host.Start();
  Result<std::string> ended = Wait(host, gone, stop);
  joined->client->Close(kGrace);
  return ended;
}

}  // namespace metis::site
