#include "metis/rpc/proof.h"

#include <algorithm>
#include <string_view>

namespace metis::rpc {
namespace {

bool Holds(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

bool Proof::Allows(const std::string& name) const {
  return !denied && (!tls || Holds(names, name));
}

bool Proof::MayBe(federation::Role role) const {
  if (denied) return false;
  if (!tls || roles.empty()) return true;
  return Holds(roles, role == federation::Role::kObserver ? "observer" : "learner");
}

bool Proof::MayOperate() const {
  if (denied) return false;
  // Plain text is taken on loopback alone.
  return local || !tls || Holds(roles, "admin") || (listed && roles.empty());
}

}  // namespace metis::rpc
