#include "metis/service/controller_desk.h"

#include <filesystem>
#include <utility>

#include "metis/core/text.h"
#include "metis/core/version.h"
#include "metis/policy/policy.h"
#include "metis/store/kept_models.h"

namespace metis::service {
namespace {

using federation::Controller;

Result<store::TestedModel> Choose(const Controller& controller, const operations::Status& status,
                                  bool best) {
  const federation::StopCriteria& tests = controller.tests();
  if (best && tests.best_model() == nullptr) {
    return NotFound(
        "no community model was tested yet, so none is the best: has an observer joined? Without "
        "--best the latest is exported");
  }
  if (best)
    return store::TestedModel{tests.best_version(), tests.best_model(), tests.best_accuracy()};
  store::TestedModel latest{controller.version(), controller.community(), -1};
  if (!status.tests.empty() && status.tests.back().version == latest.version.value()) {
    latest.accuracy = status.tests.back().accuracy;
  }
  return latest;
}

}  // namespace

operations::Status FactsOfStatus(const ControllerSetup& setup, const std::string& run) {
  const ModelSchema& schema = *setup.initial.model->schema();
  const std::string& model = setup.config.training.model;
  operations::Status facts;
  facts.program = Text("metis ", ProgramVersion());
  facts.federation = setup.federation;
  facts.policy = std::string(policy::NameOf(setup.config.federation.policy));
  facts.dataset = setup.config.source.dataset;
  facts.model = model == "auto" ? "built-in" : model;
  facts.parameters = schema.parameters();
  facts.model_bytes = schema.bytes();
  std::error_code unknown;
  facts.run = std::filesystem::absolute(run, unknown).lexically_normal().string();
  return facts;
}

store::ModelFacts FactsOfModels(const ControllerSetup& setup) {
  store::ModelFacts facts = setup.initial.facts;
  facts["dataset"] = setup.config.source.dataset;
  facts["policy"] = std::string(policy::NameOf(setup.config.federation.policy));
  facts["seed"] = Text(setup.config.simulation.seed);
  facts["federation"] = setup.federation;
  return facts;
}

operations::Surroundings SurroundingsOf(const rpc::ControllerServer& server) {
  const rpc::Traffic traffic = server.traffic();
  return {.connected = server.Connections(),
          .bytes_received = traffic.bytes_received,
          .bytes_sent = traffic.bytes_sent,
          .refusals = traffic.refusals};
}

rpc::OperatorHooks MakeOperatorHooks(const operations::StatusBoard& board,
                                     drivers::ControllerHost& host, const ControllerSetup& setup) {
  rpc::OperatorHooks hooks;
  hooks.status = [&board] {
    // What participants say about themselves may be no UTF-8.
    return operations::FormatStatus(*board.Latest())
        .dump(-1, ' ', false, report::Json::error_handler_t::replace);
  };
  hooks.export_model = [&board, &host, facts = FactsOfModels(setup),
                        schema = report::SchemaJson(*setup.initial.model).dump()](
                           bool best, std::function<void(Result<rpc::ExportedModel>)> answer) {
    host.Look([&board, facts, schema, best, answer = std::move(answer)](
                  const Controller& controller, Instant) {
      Result<store::TestedModel> chosen = Choose(controller, *board.Latest(), best);
      if (!chosen) return answer(chosen.error());
      answer(rpc::ExportedModel{chosen->model,
                                report::Json(store::WithTest(facts, *chosen))
                                    .dump(-1, ' ', false, report::Json::error_handler_t::replace),
                                schema});
    });
  };
  return hooks;
}

}  // namespace metis::service
