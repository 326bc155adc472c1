#include "metis/train/architecture.h"

#include <utility>

#include "metis/core/text.h"
#include "metis/train/instance_pool.h"
#include "metis/train/layout.h"
#include "metis/train/recipes.h"
#include "metis/train/script_network.h"

namespace metis::train {
namespace {

constexpr std::string_view kScript = "torchscript:";

Result<Recipe> Make(const ArchitectureSettings& settings) {
  if (!settings.name.starts_with(kScript)) return MakeRecipe(settings);
  Result<std::unique_ptr<Network>> network =
      LoadScript(settings.name.substr(kScript.size()), settings);
  if (!network) return network.error();
  Preparation preparation = {.height = settings.example.height, .width = settings.example.width};
  preparation.margin = settings.example.channels == 3 ? 4 : 0;
  return Recipe{preparation, std::move(*network)};
}

}  // namespace

std::vector<std::string> ArchitectureNames() {
  return {"mnist-cnn", "cifar10-cnn", "femnist-cnn", "resnet-cifar:50",
          "resnet50",  "mlp:128",     "logistic",    "torchscript:FILE"};
}

Result<ArchitecturePtr> Architecture::Create(const ArchitectureSettings& settings) {
  if (settings.classes < 2) {
    return Invalid(Text("a model tells classes apart, the data has ", settings.classes,
                        ": at least 2 are needed"));
  }
  Result<Recipe> recipe = Make(settings);
  if (!recipe) return recipe.error();
  Result<Layout> layout = Layout::Create(recipe->network->rules(), settings.share_statistics);
  if (!layout) return layout.error().In(settings.name);
  return ArchitecturePtr(new Architecture(settings, recipe->preparation, std::move(recipe->network),
                                          std::make_unique<Layout>(std::move(*layout))));
}

Result<ArchitecturePtr> Architecture::For(std::string_view name, const data::Dataset& set,
                                          bool share_statistics) {
  return Create({.name = std::string(name),
                 .example = set.shape(),
                 .classes = set.classes(),
                 .share_statistics = share_statistics});
}

Architecture::Architecture(ArchitectureSettings settings, Preparation preparation,
                           std::unique_ptr<Network> network, std::unique_ptr<Layout> layout)
    : settings_(std::move(settings)),
      preparation_(preparation),
      network_(std::move(network)),
      layout_(std::move(layout)),
      instances_(std::make_unique<InstancePool>(*network_)) {}

Architecture::~Architecture() = default;

const SchemaPtr& Architecture::schema() const { return layout_->schema(); }

size_t Architecture::trained_parameters() const {
  size_t trained = 0;
  for (const Layout::Place& place : layout_->places()) trained += place.trained ? place.size : 0;
  return trained;
}

bool Architecture::has_statistics() const { return network_->has_statistics(); }

ModelPtr Architecture::Initial(ModelPool& pool, uint64_t seed) const {
  ModelDraft draft = pool.Draft();
  for (size_t i = 0; i < layout_->places().size(); ++i) {
    const Layout::Place& place = layout_->places()[i];
    if (place.shared) network_->Begin(i, seed, draft.tensor(place.schema_index));
  }
  return std::move(draft).Seal();
}

}  // namespace metis::train
