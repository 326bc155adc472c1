#include "metis/rpc/client_greeting.h"

#include <algorithm>
#include <vector>

#include "metis/core/text.h"
#include "metis/rpc/client_channel.h"
#include "metis/wire/messages.h"

namespace metis::rpc {

Result<void> CheckOptions(const ParticipantClientOptions& options) {
  if (Result<void> name = wire::CheckName(options.name); !name) return name;
  if (options.controller.port == 0) {
    return Invalid(Text("port 0 of ", options.controller.host, " can't be dialled"));
  }
  if (!options.credentials && !IsLoopback(options.controller.host)) {
    return Invalid(Text(options.controller.host,
                        " is another machine, and without certificates everything would travel in "
                        "the clear: name a CA, a certificate and a key"));
  }
  if (!options.credentials) return {};
  const std::vector<std::string>& names = options.credentials->names;
  if (std::find(names.begin(), names.end(), options.name) != names.end()) return {};
  return Invalid(Text("the certificate is for ", Join(names), ", not for \"", options.name,
                      "\": the controller would not believe the name"));
}

Result<Welcome> ReadWelcome(const v1::Welcome& message) {
  Result<uint32_t> version = wire::NegotiateVersion(message.version(), message.version());
  if (!version) return version.error();
  Result<SchemaPtr> schema = wire::DecodeSchema(message.schema());
  if (!schema) return schema.error();
  Result<wire::Encoding> encoding = wire::DecodeEncoding(message.encoding());
  if (!encoding) return encoding.error();
  return Welcome{LearnerId(message.learner()), message.federation(), message.config(), *schema,
                 *encoding};
}

v1::FromParticipant MakeHello(const ParticipantClientOptions& options) {
  v1::FromParticipant first;
  v1::Hello& hello = *first.mutable_hello();
  hello.set_oldest_version(wire::kOldestWire);
  hello.set_newest_version(wire::kNewestWire);
  hello.set_name(options.name);
  hello.set_incarnation(options.incarnation.value());
  hello.set_role(wire::EncodeRole(options.role));
  hello.set_program(options.program);
  return first;
}

Result<void> CheckSame(const ParticipantClientOptions& options, const Welcome& first,
                       const Welcome& again) {
  const std::string address = AddressOf(options.controller);
  if (again.federation != first.federation) {
    return Invalid(Text("at ", address, " is federation \"", again.federation, "\" now, it was \"",
                        first.federation, "\": start again to join it"));
  }
  if (again.learner != first.learner) {
    return Invalid(Text("the controller at ", address, " knows \"", options.name, "\" as number ",
                        again.learner, " now, it was ", first.learner,
                        ": has it lost its records? Start again to join anew"));
  }
  if (again.schema->hash() != first.schema->hash()) {
    return Invalid(Text("the controller at ", address,
                        " has models of another schema now: start again to join it"));
  }
  return {};
}

}  // namespace metis::rpc
