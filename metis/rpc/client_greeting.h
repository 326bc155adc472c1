// The first words between a participant and its controller, and whether they are as expected.
#pragma once

#include "metis/core/result.h"
#include "metis/rpc/participant_client.h"
#include "proto/metis/v1/federation.pb.h"

namespace metis::rpc {

// Before anything is dialled: a name, a port, and certificates where they are needed.
Result<void> CheckOptions(const ParticipantClientOptions& options);

v1::FromParticipant MakeHello(const ParticipantClientOptions& options);

Result<Welcome> ReadWelcome(const v1::Welcome& message);

// Whether the controller that was reached again is the one that welcomed first.
Result<void> CheckSame(const ParticipantClientOptions& options, const Welcome& first,
                       const Welcome& again);

}  // namespace metis::rpc
