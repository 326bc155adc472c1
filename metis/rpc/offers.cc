#include "metis/rpc/offers.h"

#include <utility>

namespace metis::rpc {

void Offers::Add(const federation::Action& message, ModelPtr model) {
  Offer offer;
  offer.model = std::move(model);
  if (const auto* evaluate = std::get_if<federation::RequestEvaluation>(&message)) {
    offer.update = evaluate->update;
    Cancel(evaluate->update);  // asked again
  } else if (const auto* test = std::get_if<federation::RequestTest>(&message)) {
    offer.version = test->version;
    offers_.remove_if([&](const Offer& other) { return other.version == test->version; });
  } else {
    offer.community = true;
    offers_.remove_if([](const Offer& other) { return other.community; });
  }
  offers_.push_back(std::move(offer));
  if (offers_.size() > kMost) offers_.pop_front();
}

void Offers::Cancel(const federation::UpdateId& update) {
  offers_.remove_if([&](const Offer& offer) { return offer.update == update; });
}

void Offers::Answered(const federation::Event& event) {
  if (const auto* counts = std::get_if<federation::CountsReceived>(&event)) {
    Cancel(counts->update);
  } else if (const auto* failed = std::get_if<federation::EvaluationFailed>(&event)) {
    Cancel(failed->update);
  } else if (const auto* tested = std::get_if<federation::CommunityTested>(&event)) {
    offers_.remove_if([&](const Offer& offer) { return offer.version == tested->version; });
  }
}

ModelPtr Offers::Find(uint64_t fingerprint) const {
  for (const Offer& offer : offers_) {
    if (offer.model->Fingerprint() == fingerprint) return offer.model;
  }
  return nullptr;
}

void Offers::Served(uint64_t fingerprint, Clock::time_point now) {
  for (Offer& offer : offers_) {
    if (offer.model->Fingerprint() == fingerprint) offer.served = now;
  }
}

void Offers::Expire(Clock::time_point now) {
  offers_.remove_if(
      [&](const Offer& offer) { return offer.served && now - *offer.served >= kKeepServed; });
}

}  // namespace metis::rpc
