#include "metis/sim/cycle_oracle.h"

#include "metis/core/enum_name.h"
#include "metis/core/text.h"
#include "metis/federation/part.h"

namespace metis::sim {

using federation::CycleReason;
using federation::CycleRecord;

void CycleOracle::LifeBegins(LearnerId learner, const std::string& group) {
  lives_[learner] = {.group = group, .staleness = {}, .record = {}};
}

std::optional<std::string> CycleOracle::EpochDecided(LearnerId learner, const CycleRecord& record,
                                                     bool asked) {
  federation::CycleFacts& life = lives_[learner];
  life.record = record;
  const std::optional<CycleReason> should = settings_.policy.trigger->expect(settings_, life);
  if (asked) life.staleness.push_back(static_cast<double>(record.staleness));
  if (asked == should.has_value() && (!asked || record.reason == *should)) return std::nullopt;
  return Text("learner ", learner, asked ? " asked" : " did not ask", " after epoch ",
              record.epochs, " of cycle ", record.cycle, " with ", record.failures,
              " failures and staleness ", record.staleness, " for the reason ",
              NameOf(record.reason), ", not ", should ? NameOf(*should) : "yet");
}

}  // namespace metis::sim
