// What a controller keeps in its run directory beside the record (docs/run-directory.md). Whoever
// finds `federation` or `state.db` there has found a federation over the network.
//
//   initial.metis   the model that the federation begins with, and what is known about it
//   federation      its name for ever, 16 hexadecimal digits; how it is recorded, a word
//   address         where the controller listens, while it does
//   control         the socket for operators, while the controller runs
//                   (service/control_socket.h)
//   audit.jsonl     what was refused, to whom, and what operators did
//   state.db, blobs/  the state, while storage.durability is "full"
//   lock            held by the controller that runs
#pragma once

namespace metis::report {

inline constexpr const char* kInitialFile = "initial.metis";
inline constexpr const char* kFederationFile = "federation";
inline constexpr const char* kAddressFile = "address";
inline constexpr const char* kControlFile = "control";
inline constexpr const char* kAuditFile = "audit.jsonl";
inline constexpr const char* kStateFile = "state.db";
inline constexpr const char* kBlobsDirectory = "blobs";

}  // namespace metis::report
