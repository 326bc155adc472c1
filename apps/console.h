// What a program that runs long says meanwhile, on standard error: lines, and how far it is (a bar
// below them on a terminal, a plain line now and then elsewhere). Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "apps/progress.h"
#include "metis/core/narrator.h"

namespace metis::apps {

class Console final : public Narrator {
 public:
  Console();

  void Say(const std::string& line) override;
  void Warn(const std::string& line) override;  // as other programs' errors: "metis: LINE"
  void Begin(const std::string& label) override;
  void Update(double part, const std::function<std::string()>& details) override;
  void End() override;

 private:
  const bool terminal_;
  std::mutex mutex_;
  std::optional<Progress> progress_;  // guarded by mutex_
};

}  // namespace metis::apps
