#include "metis/drivers/transport.h"

namespace metis::drivers {

std::optional<LearnerId> Addressee(const federation::Action& action) {
  return std::visit(
      [](const auto& content) -> std::optional<LearnerId> {
        if constexpr (requires {
                        content.message;
                        content.evaluator;
                      }) {
          return std::nullopt;  // refused counts are a note
        } else if constexpr (requires { content.evaluator; }) {
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
