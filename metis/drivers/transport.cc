#include "metis/drivers/transport.h"

#include <type_traits>

namespace metis::drivers {

std::optional<LearnerId> Addressee(const federation::Action& action) {
  return std::visit(
      [](const auto& content) -> std::optional<LearnerId> {
        // Refused counts name an evaluator and are a note all the same.
        constexpr bool note =
            std::is_same_v<std::decay_t<decltype(content)>, federation::RefuseCounts>;
        if constexpr (!note && requires { content.evaluator; }) {
          return content.evaluator;
        } else if constexpr (requires { content.observer; }) {
          return content.observer;
        } else if constexpr (requires { content.id.learner; }) {
          return content.id.learner;
        } else if constexpr (requires { content.learner; }) {
          return content.learner;
        } else {
          return std::nullopt;
        }
      },
      action);
}

}  // namespace metis::drivers
