// The federation's events and actions as messages of proto/metis/v1, and back. What comes from a
// peer is checked here for whatever the types of the federation cannot hold (kinds, sizes, matrices
// that are not square); what it means is checked by the federation. No message of a participant
// says who sent it: the caller knows that from the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "metis/core/model.h"
#include "metis/core/result.h"
#include "metis/federation/action.h"
#include "metis/federation/event.h"
#include "metis/wire/transfer.h"
#include "proto/metis/v1/federation.pb.h"

namespace metis::wire {

inline constexpr uint32_t kOldestWire = 1;
inline constexpr uint32_t kNewestWire = 1;
// The newest version that both speak; an error names both ranges.
Result<uint32_t> NegotiateVersion(uint32_t oldest, uint32_t newest);

inline constexpr uint32_t kMaxClasses = 100'000;
inline constexpr size_t kMaxNameBytes = 64;
// 1 to 64 letters, digits, '-', '_', '.': what a participant may be called.
Result<void> CheckName(std::string_view name);
inline constexpr size_t kMaxGroupBytes = 256;  // of the name of a learner's group
// What a peer wrote, fit for a terminal or a log: control characters become '?', and what is longer
// than `most` bytes is cut off, never within a character.
std::string Printable(std::string_view text, size_t most = 200);

v1::Role EncodeRole(federation::Role role);
Result<federation::Role> DecodeRole(v1::Role role);

// --- Participant to controller

// Every event that a participant can cause, except UpdateReceived, which travels with its model.
Result<v1::FromParticipant> EncodeEvent(const federation::Event& event);
// `name` and `role` are those of Hello. Heartbeat and Hello are no events: kInvalid.
Result<federation::Event> DecodeEvent(const v1::FromParticipant& message, LearnerId learner,
                                      Incarnation incarnation, const std::string& name,
                                      federation::Role role);

v1::Update EncodeUpdate(const federation::UpdateReceived& update);
// Without its model.
Result<federation::UpdateReceived> DecodeUpdate(const v1::Update& message, LearnerId learner,
                                                Incarnation incarnation);

// --- Controller to participant

// Every action that is a message to a participant; its model stands apart, as an offer.
// `fingerprint` is that of the model as it is transferred.
Result<v1::ToParticipant> EncodeAction(const federation::Action& action, uint64_t fingerprint);
// Whose model an action carries; null for those without.
ModelPtr ModelOf(const federation::Action& action);
// The fingerprint of the model that must be downloaded before the message can be decoded.
std::optional<uint64_t> OfferOf(const v1::ToParticipant& message);
// `model`: the downloaded one, whose fingerprint is the offered one; null for messages without an
// offer. Welcome, Refused and Heartbeat
// are no actions: kInvalid.
Result<federation::Action> DecodeAction(const v1::ToParticipant& message, LearnerId learner,
                                        Incarnation incarnation, ModelPtr model);

v1::Schema EncodeSchema(const ModelSchema& schema);
Result<SchemaPtr> DecodeSchema(const v1::Schema& message);

v1::Encoding EncodeEncoding(Encoding encoding);
Result<Encoding> DecodeEncoding(v1::Encoding encoding);

}  // namespace metis::wire
