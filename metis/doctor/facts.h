// What `metis doctor` looks at, as plain values: gathered by gather.h from the machine, the disk,
// the network and data that were read, or made up by a test. Judged by checks.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metis/config/config.h"
#include "metis/core/result.h"

namespace metis::doctor {

struct ConfigFacts {
  std::string source;  // the file, or "the run's own settings"
  Result<config::Config> config = config::DefaultConfig();
};

struct RunFacts {
  enum class State {
    kAbsent,   // nothing there, or an empty directory
    kForeign,  // files, but no run
    kHidden,   // it can't be looked into
    kInUse,
    kFinished,
    kNewer,
    kDamaged,
    kWhole,
  };
  std::string directory;
  State state = State::kAbsent;
  std::string words;                 // which file, why hidden, what is damaged
  std::string holder;                // of kInUse: process id
  std::string address;               // of kInUse: where it listens
  int64_t format = 0;                // of kNewer
  int64_t known = 0;                 // the newest that can be read here
  uint64_t events = 0;               // of the state of kWhole, as all below
  uint64_t saved = 0;                // of them, before its snapshot: the record must have these
  std::optional<uint64_t> recorded;  // events of the record; none: it is missing
  std::string identity;              // whose state it is
  uint64_t models = 0;               // that the state refers to
  std::vector<std::string> missing_models;
  std::vector<std::string> missing_files;  // of the run, without which it can't go on
};

struct FileLimitFacts {
  uint64_t allowed = 0;      // open files, as far as this process may raise it
  uint64_t needed = 0;       // for all connections
  uint64_t least = 0;        // without any
  uint32_t connections = 0;  // network.max_connections
};

struct DiskFacts {
  std::string directory;
  Result<uint64_t> free = uint64_t{0};  // bytes
  std::optional<uint64_t> needed;       // none: no forecast
  std::string read_only;                // why it can't be written; empty: it can
  std::string remote;                   // "nfs": what kind of remote file system; empty: local
};

struct MemoryFacts {
  Result<uint64_t> free = uint64_t{0};  // bytes, without swapping
  uint64_t total = 0;                   // that this process may ever have
  std::optional<uint64_t> needed;
};

struct ListenFacts {
  enum class State { kFree, kTaken, kDenied, kElsewhere, kMalformed, kFailed };
  std::string address;
  uint16_t port = 0;
  State state = State::kFree;
  std::string words;  // of kMalformed and kFailed
  bool loopback = false;
};

// Of a certificate that was read and believed.
struct CertificateFacts {
  std::string file;
  std::vector<std::string> names;
  int64_t until = 0;  // seconds of the calendar
  std::string ca_file;
  int64_t ca_until = 0;
  std::string key_file;
  uint32_t key_mode = 0600;
};

struct AuthorityFacts {
  std::string directory;
  std::string missing;       // a file; empty: none
  uint32_t key_mode = 0600;  // of ca.key
  std::string key_file;
  std::string read_only;  // why invitations can't be written; empty: they can
};

struct StateFacts {
  std::string directory;
  bool enrolled = false;
  std::string holder;     // process id; empty: nobody
  std::string read_only;  // why it can't be written; empty: it can
};

struct JoinFacts {
  enum class Reach { kReached, kMalformed, kUnknownHost, kRefused, kSilent, kUnreachable };
  enum class Speech { kTls, kPlainFederation, kOther };
  struct Peer {
    std::string subject;
    std::vector<std::string> names;
    std::string fingerprint;  // SHA-256, hexadecimal
    std::string distrust;     // why the authority does not vouch for it; empty: it does
    bool for_host = false;
    int64_t from = 0;
    int64_t until = 0;
    bool http2 = false;
  };
  std::string address;
  std::string host;
  Reach reach = Reach::kReached;
  std::string words;  // why not
  double milliseconds = 0;
  double patience_s = 0;  // that was waited for an answer
  bool insecure = false;  // plain text is wanted
  Speech speech = Speech::kTls;
  std::optional<Peer> peer;  // of kTls
  std::string ca_file;       // empty: nothing to check it with
  std::string our_name;      // empty: we have no certificate
  std::string refusal;       // of our certificate; empty: accepted
};

struct ClockFacts {
  Result<double> ahead_s =
      0.0;  // the controller's clock before this one; kInvalid: we are turned away
};

struct DataFacts {
  std::string what;
  Result<void> read;
  uint64_t examples = 0;
  std::string shape;
  uint32_t classes = 0;
  std::vector<std::string> single;           // classes with one example
  std::vector<std::string> unrecorded;       // parts of a known set with other content
  std::map<std::string, std::string> model;  // facts of the federation's model, if it is known
};

}  // namespace metis::doctor
