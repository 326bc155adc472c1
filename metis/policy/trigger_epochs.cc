// The epochs trigger: a learner asks after exactly uf local epochs.
#include "metis/core/text.h"
#include "metis/policy/parts.h"

namespace metis::policy {
namespace {

using federation::CycleFacts;
using federation::CycleReason;
using federation::CycleRecord;
using federation::EndedEpoch;
using federation::PartKey;
using federation::Settings;

constexpr PartKey kLocalEpochs = {
    .section = "trigger",
    .name = "local_epochs",
    .fallback = int64_t{4},
    .allowed = federation::WholeRange{1, 1'000'000},
    .documentation = "The epochs trigger asks after exactly this many epochs.",
    .suggested = true};

class Trigger final : public federation::Trigger {
 public:
  explicit Trigger(const Settings& settings)
      : epochs_(settings.values.Get<uint32_t>(kLocalEpochs)) {}

  std::optional<CycleReason> Failure(const CycleRecord&, const EndedEpoch&) const override {
    return std::nullopt;
  }
  Verdict Judge(const CycleRecord& cycle, const EndedEpoch&,
                std::optional<CycleReason>) const override {
    return {cycle.epochs >= epochs_, CycleReason::kEpochs};
  }

 private:
  const uint32_t epochs_;
};

std::optional<CycleReason> Expect(const Settings& settings, const CycleFacts& facts) {
  const auto epochs = settings.values.Get<uint64_t>(kLocalEpochs);
  if (facts.record.epochs != epochs) return std::nullopt;
  return CycleReason::kEpochs;
}

federation::TriggerPart Describe() {
  federation::TriggerPart part;
  part.name = "epochs";
  part.help = "after a number of local epochs";
  part.keys = {kLocalEpochs};
  part.section_help = "When a learner asks for an update.";
  part.draw = [](Random& random, Settings& settings) {
    settings.values.Set(kLocalEpochs, static_cast<int64_t>(1 + random.Below(4)));
  };
  part.fixed_epochs = [](const Settings& settings) -> std::optional<uint32_t> {
    return settings.values.Get<uint32_t>(kLocalEpochs);
  };
  part.in_words = [](const Settings& settings) {
    const auto epochs = settings.values.Get<uint32_t>(kLocalEpochs);
    return Text("after ", epochs, epochs == 1 ? " local epoch" : " local epochs");
  };
  part.make = [](const Settings& settings, const std::string&) {
    return std::make_unique<Trigger>(settings);
  };
  part.expect = Expect;
  return part;
}

}  // namespace

const federation::TriggerPart& EpochsTrigger() {
  static const auto* part = new federation::TriggerPart(Describe());
  return *part;
}

}  // namespace metis::policy
