#include "metis/drivers/announcer.h"

#include <vector>

#include "metis/core/enum_name.h"
#include "metis/core/text.h"

namespace metis::drivers {
namespace {

using federation::Member;

// The same words are not said again before this has passed: a full disk refuses every event.
constexpr Duration kSayAgainAfter = Duration::Seconds(10);
constexpr size_t kSaidAtMost = 256;  // texts remembered for that

}  // namespace

std::optional<Glimpse> GlimpseOf(const Member* member) {
  if (member == nullptr) return std::nullopt;
  return Glimpse{member->incarnation(), member->presence, member->verdict.sequence};
}

std::string Announcer::Title(LearnerId learner) const {
  const Member* member = controller_.membership().Find(learner);
  if (member == nullptr) return Text("participant ", learner);
  return Text(NameOf(member->declared.role), " ", member->declared.name);
}

void Announcer::Presence(LearnerId learner, const std::optional<Glimpse>& before) {
  const Member* after = controller_.membership().Find(learner);
  if (after == nullptr) return;
  if (!before || before->incarnation != after->incarnation()) {
    say_(Text(Title(learner), " has joined (participant ", learner, ", incarnation ",
              after->incarnation(), ")"));
  } else if (before->presence != after->presence) {
    switch (after->presence) {
      case federation::Presence::kLive:
        return say_(Text(Title(learner), " has returned"));
      case federation::Presence::kLost:
        return say_(Text(Title(learner), " is lost: unheard of for ", silence_));
      case federation::Presence::kLeft:
        return say_(Text(Title(learner), " has left"));
    }
  }
}

void Announcer::Action(Instant now, const federation::Action& action) {
  if (const auto* changed = std::get_if<federation::StateChanged>(&action)) {
    if (changed->phase == federation::Phase::kFinished) return;  // said by Finished
    if (changed->reason != controller_.phase_reason()) return say_(changed->reason);
    say_(Text("the federation is ", NameOf(changed->phase), changed->reason.empty() ? "" : ": ",
              changed->reason));
  } else if (const auto* commit = std::get_if<federation::CommunityCommitted>(&action)) {
    if (!commit->withdrawn) return;
    say_(Text("the model of ", Title(*commit->withdrawn), " is out of the community: version ",
              commit->version));
  } else if (const auto* refused = std::get_if<federation::RefuseJoin>(&action)) {
    Sometimes(now, Text("participant ", refused->learner, " may not join: ", refused->message));
  } else if (const auto* rejected = std::get_if<federation::RejectUpdate>(&action)) {
    Sometimes(now, Text("update ", rejected->id.sequence, " of ", Title(rejected->id.learner),
                        " is refused (", NameOf(rejected->reason), "): ", rejected->message));
  } else if (const auto* counts = std::get_if<federation::RefuseCounts>(&action)) {
    Sometimes(now, Text("counts of ", Title(counts->evaluator), " are refused: ", counts->message));
  } else if (const auto* finished = std::get_if<federation::Finished>(&action)) {
    say_(Text("finished with version ", finished->version, " (", NameOf(finished->reason), ")"));
  }
}

void Announcer::Sometimes(Instant now, const std::string& text) {
  if (said_.size() >= kSaidAtMost) {
    std::erase_if(said_, [&](const auto& each) { return now - each.second >= kSayAgainAfter; });
    if (said_.size() >= kSaidAtMost) return;
  }
  auto [last, added] = said_.emplace(text, now);
  if (!added && now - last->second < kSayAgainAfter) return;
  last->second = now;
  say_(text);
}

}  // namespace metis::drivers
