#include "metis/wire/messages.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "metis/core/display.h"
#include "metis/core/text.h"
#include "metis/wire/messages_internal.h"

namespace metis::wire {

Result<uint32_t> NegotiateVersion(uint32_t oldest, uint32_t newest) {
  const uint32_t version = std::min(newest, kNewestWire);
  if (version >= oldest && version >= kOldestWire) return version;
  return Invalid(Text("the peer speaks wire versions ", oldest, " to ", newest, ", this program ",
                      kOldestWire, " to ", kNewestWire, ": update the older of the two"));
}

Result<void> CheckName(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  const std::string_view rule = "1 to 64 letters, digits, - _ . are";
  if (name.empty() || name.size() > kMaxNameBytes) {
    return Invalid(Text("a name of ", name.size(), " bytes is none for a participant: ", rule));
  }
  if (name.find_first_not_of(kAllowed) != std::string_view::npos) {
    return Invalid(Text("\"", Printable(name), "\" is no name for a participant: ", rule));
  }
  return {};
}

std::string Printable(std::string_view text, size_t most) {
  const bool whole = text.size() <= most;
  while (!whole && most > 0 && (text[most] & 0xc0) == 0x80) --most;
  const std::string printable = metis::Printable(text.substr(0, most));
  return whole ? printable : printable + "...";
}

v1::Role EncodeRole(federation::Role role) {
  return role == federation::Role::kObserver ? v1::ROLE_OBSERVER : v1::ROLE_LEARNER;
}

Result<federation::Role> DecodeRole(v1::Role role) {
  return DecodeEnum<federation::Role>(static_cast<uint32_t>(role), "role");
}

v1::Schema EncodeSchema(const ModelSchema& schema) {
  v1::Schema message;
  for (const TensorSpec& tensor : schema.tensors()) {
    v1::Tensor* added = message.add_tensors();
    added->set_name(tensor.name);
    added->mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  }
  return message;
}

Result<SchemaPtr> DecodeSchema(const v1::Schema& message) {
  std::vector<TensorSpec> tensors;
  for (const v1::Tensor& tensor : message.tensors()) {
    tensors.push_back({tensor.name(), {tensor.shape().begin(), tensor.shape().end()}});
  }
  Result<SchemaPtr> schema = ModelSchema::Create(std::move(tensors));
  if (!schema) return schema.error().In("schema");
  return schema;
}

v1::Encoding EncodeEncoding(Encoding encoding) {
  switch (encoding) {
    case Encoding::kRaw:
      return v1::ENCODING_RAW;
    case Encoding::kZstd:
      return v1::ENCODING_ZSTD;
    case Encoding::kHalf:
      return v1::ENCODING_HALF;
  }
  METIS_CHECK_MSG(false, "an encoding without a number on the wire");
  return v1::ENCODING_RAW;
}

Result<Encoding> DecodeEncoding(v1::Encoding encoding) {
  switch (encoding) {
    case v1::ENCODING_RAW:
      return Encoding::kRaw;
    case v1::ENCODING_ZSTD:
      return Encoding::kZstd;
    case v1::ENCODING_HALF:
      return Encoding::kHalf;
    default:
      return Invalid(Text("encoding ", static_cast<int>(encoding),
                          " is unknown, 0 to 2 are known: is the peer newer than this program?"));
  }
}

void Encode(const federation::UpdateId& id, v1::UpdateId* message) {
  message->set_learner(id.learner.value());
  message->set_incarnation(id.incarnation.value());
  message->set_sequence(id.sequence.value());
}

federation::UpdateId Decode(const v1::UpdateId& message) {
  return {LearnerId(message.learner()), Incarnation(message.incarnation()),
          Sequence(message.sequence())};
}

Error Missing(std::string_view message, std::string_view field) {
  return Invalid(Text("a message of kind ", message, " lacks its ", field));
}

}  // namespace metis::wire
