#include "metis/config/keys.h"

#include <algorithm>

#include "metis/config/part_keys.h"
#include "metis/core/number.h"
#include "metis/core/text.h"
#include "metis/policy/policy.h"

namespace metis::config {
namespace {

using federation::LeaseEnd;

using Keys = std::vector<Key<Draft>>;

// The field of a target, const or not.
#define FIELD(path) [](auto& target) -> decltype(auto) { return (target.path); }
#define FEDERATION(path) FIELD(config.federation.path)

constexpr int64_t kMany = 1'000'000;  // learners, epochs, examples a batch: beyond it is a slip
constexpr int64_t kUint32 = 4'294'967'295;
constexpr Duration kZero = {};
constexpr Duration kYear = Duration::Hours(24 * 365);
constexpr Duration kForeverLong = Duration::Forever();
constexpr bool kAbove = true;  // the lower bound itself is outside
constexpr bool kBelow = true;  // the upper bound itself is outside
constexpr double kUnbounded = std::numeric_limits<double>::max();
constexpr double kLeastBandwidth = 0.001;  // the largest model takes a century, not more

Words<std::string> PolicyWords() {
  Words<std::string> words;
  for (std::string_view name : policy::kPolicyNames) words.push_back({name, std::string(name)});
  words.push_back({policy::kCustomPolicy, std::string(policy::kCustomPolicy)});
  return words;
}

const Words<LeaseEnd> kLeaseEnds = {{"keep", LeaseEnd::kKeep}, {"withdraw", LeaseEnd::kWithdraw}};

const Words<wire::Encoding> kEncodings = {{"raw", wire::Encoding::kRaw},
                                          {"zstd", wire::Encoding::kZstd},
                                          {"half", wire::Encoding::kHalf}};
const Words<store::Durability> kDurabilities = {{"full", store::Durability::kFull},
                                                {"none", store::Durability::kNone}};

const Words<learner::Precision> kPrecisions = {{"fp32", learner::Precision::kFp32},
                                               {"bf16", learner::Precision::kBf16}};

// What it means is checked where it is used: only there are data sets and models known.
Result<void> ReadSomeText(std::string_view text, std::string& value) {
  if (text.empty()) return Invalid("must not be empty");
  value = text;
  return {};
}

// Whether there is such a host is seen when it is listened on.
Result<void> ReadAddress(std::string_view text, std::string& address) {
  const size_t colon = text.rfind(':');
  const std::string_view port = colon == text.npos ? "" : text.substr(colon + 1);
  if (colon == 0 || !ParseNumber<uint16_t>(port)) {
    return Invalid("must be HOST:PORT with a port from 0 to 65535, e.g. \"0.0.0.0:7740\"");
  }
  address = text;
  return {};
}

constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

// The names of certificates; whether there are such is seen when they call.
Result<void> ReadNames(std::string_view text, std::vector<std::string>& names) {
  std::vector<std::string> read;
  if (text == kNone) text = "";
  if (text.size() > 1 && text.ends_with(',')) text.remove_suffix(1);
  std::vector<std::string_view> pieces;
  if (!text.empty()) pieces = Split(text, ',');
  for (std::string_view name : pieces) {
    name = Trim(name);
    if (name.empty() || name.size() > 64 || name.find_first_not_of(kNameCharacters) != name.npos) {
      return Invalid(Text("\"", name, "\" is no name: 1 to 64 letters, digits, - _ . are"));
    }
    read.emplace_back(name);
  }
  names = std::move(read);
  return {};
}

std::string FormatNames(const std::vector<std::string>& names) {
  return names.empty() ? std::string(kNone) : Join(names);
}

Result<void> ReadAddressOrOff(std::string_view text, std::string& address) {
  if (text == dashboard::kOff || ReadAddress(text, address)) {
    address = text;
    return {};
  }
  return Invalid(
      "must be HOST:PORT with a port from 0 to 65535, e.g. \"127.0.0.1:7741\", or \"off\"");
}

// Safe in a key path, in a file name and in a table.
Result<void> ParseGroupName(std::string_view text, std::string& name) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  if (text.empty() || text.size() > 64 || !std::all_of(text.begin(), text.end(), allowed)) {
    return Invalid("must be 1 to 64 letters, digits, - or _");
  }
  name = text;
  return {};
}

// The reader names key and value already: `sizes = "x": sizes "x": why` becomes `sizes = "x": why`.
Result<void> WithoutPrefix(Result<void> result, std::string_view key, std::string_view text) {
  if (result) return result;
  std::string prefix = Text(key, " \"", text, "\": ");
  Error error = result.error();
  if (error.message.starts_with(prefix)) error.message.erase(0, prefix.size());
  return error;
}

// A later value replaces all of an earlier one, also what only the earlier one needed.
Result<void> ReadSizes(std::string_view text, data::PartitionSettings& settings) {
  settings.powerlaw_exponent = data::PartitionSettings().powerlaw_exponent;
  return WithoutPrefix(data::ParseSizes(text, settings), "sizes", text);
}

Result<void> ReadClasses(std::string_view text, data::PartitionSettings& settings) {
  settings.class_runs.clear();
  settings.dirichlet_alpha = data::PartitionSettings().dirichlet_alpha;
  settings.table = {};
  return WithoutPrefix(data::ParseClasses(text, settings), "classes", text);
}

// One key, one line: name, field, values, sentence. Its tests ask for a sample value in
// format_test.cc.
// clang-format off
Keys FederationKeys() {
  Keys keys = {
      Word<Draft>("policy", FIELD(policy), PolicyWords(), "Shorthand for protocol, weighting and trigger; one that is set by itself wins over it, and a policy from the command line over those of the file.").DefaultsTo(Quoted(policy::kDefaultPolicy)).Suggested(),
  };
  for (Key<Draft>& choice : ChoiceKeys()) keys.push_back(std::move(choice));
  Keys others = {
      Whole<Draft>("learners", FEDERATION(membership.learners), {1, kMany}, "How many learners are expected.").Suggested(),
      Whole<Draft>("start_with", FEDERATION(membership.start_with), {0, kMany}, "How many must have joined before training starts; 0 waits for all."),
      Whole<Draft>("quorum", FEDERATION(membership.quorum), {1, kMany}, "Fewer live learners pause the federation; also the least that a round closes with."),
      Whole<Draft>("max_learners", FEDERATION(membership.max_learners), {1, kMany}, "How many may be joined at once; further ones are refused."),
      Number<Draft>("max_parameter", FEDERATION(max_parameter), {0, 8'388'608, kAbove, kBelow}, "An update with a parameter of this magnitude or more is refused; times max_learners it stays below 2^23."),
      Whole<Draft>("seed", FIELD(config.simulation.seed), {0}, "All randomness comes from it: the same seed gives the same run.").Suggested(),
  };
  for (Key<Draft>& other : others) keys.push_back(std::move(other));
  return keys;
}

Keys MembershipKeys() {
  return {
      Time<Draft>("heartbeat", FEDERATION(membership.heartbeat), {kZero, kYear, kAbove}, "A learner is heard at least this often."),
      Time<Draft>("silence", FEDERATION(membership.silence), {kZero, kYear, kAbove}, "A learner that was not heard for this long is lost."),
      Time<Draft>("lease", FEDERATION(membership.lease), {kZero, kForeverLong, kAbove}, "A learner that was lost for this long has no lease any more, and lease_end applies."),
      Word<Draft>("lease_end", FEDERATION(membership.lease_end), kLeaseEnds, "What happens to its model then: it stays in the community, or is withdrawn."),
      Time<Draft>("retry", FEDERATION(retry), {kZero, kYear, kAbove}, "A learner without an answer asks again after this long, and then backs off."),
  };
}

Keys StopKeys() {
  return {
      Time<Draft>("duration", FEDERATION(stop.duration), {kZero, 10 * kYear, kAbove}, "Ends after this much time.").OrNone().DefaultsTo("\"1h\" if no criterion is set").Suggested(),
      Whole<Draft>("rounds", FEDERATION(stop.rounds), {1}, "Ends after this many rounds of a synchronous federation.").OrNone(),
      Whole<Draft>("requests", FEDERATION(stop.requests), {1}, "Ends after this many committed update requests.").OrNone(),
      Number<Draft>("target_accuracy", FEDERATION(stop.target_accuracy), {0, 1, kAbove}, "Ends when a test of the community model reaches it.").OrNone(),
      Whole<Draft>("patience", FEDERATION(stop.patience), {1, kUint32}, "Ends after this many tests in a row without a new best accuracy.").OrNone(),
  };
}

Keys TestKeys() {
  return {
      Time<Draft>("every", FEDERATION(test.every), {kZero, 10 * kYear, kAbove}, "The time between two tests.").OrNone().DefaultsTo("1 % of the duration, if neither is set"),
      Whole<Draft>("every_commits", FEDERATION(test.every_commits), {1}, "Also tests after every so many commits.").OrNone().DefaultsTo("1 % of the rounds or requests, if neither is set and there is no duration"),
  };
}

Keys TrainingKeys() {
  return {
      Number<Draft>("learning_rate", FIELD(config.training.learning_rate), {0, kUnbounded, kAbove}, "The step size eta of SGD.").Suggested(),
      Number<Draft>("momentum", FIELD(config.training.momentum), {0, 1, false, kBelow}, "The momentum g of u = g*u - eta*grad; 0 is plain SGD.").Suggested(),
      Number<Draft>("proximal", FIELD(proximal), {0}, "The factor mu of the proximal term in the local loss: mu/2 times the squared distance from the received model.").DefaultsTo(ProximalDefaultInWords()),
      Whole<Draft>("batch_size", FIELD(config.training.batch_size), {1, kMany}, "Examples in a mini-batch.").Suggested(),
      Flag<Draft>("keep_momentum", FIELD(config.training.keep_momentum), "Whether momentum survives a received community model; else it restarts at zero."),
      Phrase<Draft>("model", FIELD(config.training.model), "\"auto\", or a model of `metis model init --help`", ReadSomeText, [](const std::string& text) { return text; }, "The network that is trained on real data; auto: one that suits the data set."),
      Word<Draft>("precision", FIELD(config.training.precision), kPrecisions, "bf16 multiplies in 16 bits, which is much faster on CPUs with AMX."),
      Flag<Draft>("augmentation", FIELD(config.training.augmentation), "Whether colour images are cropped at random and mirrored every other time."),
      Flag<Draft>("share_statistics", FIELD(config.training.share_statistics), "Whether running statistics of batch normalisation are part of the model, or stay with each learner."),
      Number<Draft>("validation_fraction", FIELD(config.training.validation_fraction), {0, 0.5, kAbove}, "The share of a learner's examples that is reserved for validation where the policy needs it."),
  };
}

Keys DataKeys() {
  return {
      Phrase<Draft>("dataset", FIELD(config.source.dataset), "\"builtin\", a name of `metis data list`, or the path of a file", ReadSomeText, [](const std::string& text) { return text; }, "What is learned: Gaussian classes made for the run, or real data."),
      Whole<Draft>("examples", FIELD(config.source.examples), {1, kUint32}, "How many of a data set's training examples are dealt, each class in proportion.").OrNone(),
      Whole<Draft>("test_examples", FIELD(config.source.test_examples), {1, kUint32}, "How many of a data set's test examples are used, each class in proportion.").OrNone(),
      Number<Draft>("test_fraction", FIELD(config.source.test_fraction), {0, 1, kAbove, kBelow}, "The share that is held out for testing of a data set that comes without a test part."),
      Phrase<Draft>("faulty", FIELD(config.source.faulty), "\"none\", or learners with wrong labels: \"0:labels=random, 3:labels=noise:0.3\"; also constant:CLASS, swap:CLASS-CLASS", data::ParseFaultyList, data::FormatFaultyList, "Learners whose training and validation labels are wrong; numbered from 0, the largest first."),
      Phrase<Draft>("sizes", FIELD(config.data), "\"uniform\", \"skewed\", \"powerlaw\" or \"powerlaw:EXPONENT\"", ReadSizes, data::FormatSizes, "How many examples each learner gets.").Suggested(),
      Phrase<Draft>("classes", FIELD(config.data), "\"iid\", \"noniid:CLASSES\", \"noniid:8x1,4x1,3x8\" (classes x learners), \"dirichlet:ALPHA\", \"table:FILE\" (a CSV file; leave sizes out) or \"writers\" (needs data with writers)", ReadClasses, data::FormatClasses, "Which classes each learner holds.").Suggested(),
  };
}

Keys BuiltinKeys() {
  return {
      Whole<Draft>("classes", FIELD(config.simulation.builtin.classes), {2, 100'000}, "Classes of the data."),
      Whole<Draft>("features", FIELD(config.simulation.builtin.features), {1, kMany}, "Dimensions of an example."),
      Whole<Draft>("training_examples", FIELD(config.simulation.builtin.training_examples), {1, kUint32}, "Examples that are dealt to the learners."),
      Whole<Draft>("test_examples", FIELD(config.simulation.builtin.test_examples), {1, kUint32}, "Examples that test the community model."),
      Number<Draft>("separation", FIELD(config.simulation.builtin.separation), {0, 1000}, "Distance of the class means from the origin, in deviations of an example: less is harder."),
  };
}

Keys NetworkKeys() {
  return {
      Phrase<Draft>("listen", FIELD(config.network.listen), "\"HOST:PORT\"", ReadAddress, [](const std::string& text) { return text; }, "Where the controller listens; port 0 is any free one. Other hosts than this one need certificates."),
      Word<Draft>("transfer", FIELD(config.network.transfer), kEncodings, "How models travel: as they are, compressed without loss, or in 16 bits a value, which rounds them."),
      Time<Draft>("stalled", FIELD(config.network.stalled), {kZero, kYear, kAbove}, "A transfer without a byte of progress for this long is dropped; it goes on later where it stopped."),
      Whole<Draft>("receive_budget_mb", FIELD(config.network.receive_budget_mb), {1, kMany}, "Memory for the models that are being received; who comes when it is used up waits its turn."),
      Whole<Draft>("max_connections", FIELD(config.network.max_connections), {1, kMany}, "How many participants may be connected at a time."),
      Phrase<Draft>("admins", FIELD(config.network.admins), "\"none\", or names of certificates: \"alice, bob\"", ReadNames, FormatNames, "Who may operate the federation over the network, beside certificates of the role admin (`metis ca invite NAME --role admin`)."),
  };
}

Keys StorageKeys() {
  return {
      Word<Draft>("durability", FIELD(config.storage.durability), kDurabilities, "full: every event is on the disk before anything follows from it, and a controller that is started again goes on. none: nothing survives its process, and in synchronous rounds nobody can be withdrawn (unless memory_mb is set)."),
      Whole<Draft>("snapshot_every", FIELD(config.storage.snapshot_every), {1, kUint32}, "Events between two snapshots: fewer make a restart shorter, and cost a write of the state each. One is also saved after updates of 1 GB, or of two models a learner if that is more: the disk holds their models until then."),
      Whole<Draft>("memory_mb", FIELD(config.storage.memory_mb), {0, 1'000'000'000}, "Learners' latest models beyond this are kept on the disk only, whatever the durability; 0: no bound."),
  };
}

Keys DashboardKeys() {
  return {
      Phrase<Draft>("listen", FIELD(config.dashboard.listen), "\"HOST:PORT\" or \"off\"", ReadAddressOrOff, [](const std::string& text) { return text; }, "Where the dashboard and the metrics are served; port 0 is any free one. Whoever reaches it may look: keep it on this machine, or behind a proxy that asks who it is."),
  };
}

std::vector<Key<GroupDraft>> MakeGroupKeys() {
  std::vector<Key<GroupDraft>> keys = {
      Phrase<GroupDraft>("name", FIELD(device.name), "text of letters, digits, - and _", ParseGroupName, [](const std::string& name) { return name; }, "What the group is called in tables and in --set group.NAME.key=value.").DefaultsTo("none, it must be set").Suggested(),
      Whole<GroupDraft>("learners", FIELD(learners), {0, kMany}, "How many learners are of this group.").DefaultsTo("an even share of those that the other groups leave"),
      Time<GroupDraft>("batch_time", FIELD(device.batch_time), {kZero, kYear, kAbove}, "How long training one mini-batch takes.").Suggested(),
      Time<GroupDraft>("evaluation_batch_time", FIELD(evaluation_batch_time), {kZero, kYear}, "How long evaluating one mini-batch takes.").DefaultsTo("33 % of batch_time"),
      Time<GroupDraft>("latency", FIELD(device.latency), {kZero, kYear}, "How long a message travels one way."),
      Number<GroupDraft>("bandwidth_mbit_s", FIELD(device.bandwidth_mbit_s), {kLeastBandwidth}, "The link's bandwidth, the same either way."),
  };
  for (Key<GroupDraft>& key : PartKeysOfGroups()) keys.push_back(std::move(key));
  return keys;
}

std::vector<Section> MakeSections() {
  std::vector<Section> sections = {
      {"federation", "Who learns together, and by which policy.", FederationKeys()},
  };
  for (auto& [name, documentation, keys] : PartSections()) {
    sections.push_back({name, documentation, std::move(keys)});
  }
  std::vector<Section> others = {
      {"membership", "When a silent learner is lost, and what becomes of its model.", MembershipKeys()},
      {"stop", "What ends the federation: any criterion that is met.", StopKeys()},
      {"test", "When the community model is tested.", TestKeys()},
      {"training", "How every learner trains.", TrainingKeys()},
      {"data", "How the examples are dealt to the learners.", DataKeys()},
      {"builtin", "The built-in data of a simulation: Gaussian classes.", BuiltinKeys()},
      {"network", "The controller on the network (`metis controller`).", NetworkKeys()},
      {"storage", "What the controller keeps on its disk, and how safely.", StorageKeys()},
      {"dashboard", "The live page of `metis controller`, and its metrics.", DashboardKeys()},
  };
  for (Section& other : others) sections.push_back(std::move(other));
  return sections;
}
// clang-format on

}  // namespace

const std::vector<Section>& Sections() {
  static const auto* sections = new std::vector<Section>(MakeSections());
  return *sections;
}

const std::vector<Key<GroupDraft>>& GroupKeys() {
  static const auto* keys = new std::vector<Key<GroupDraft>>(MakeGroupKeys());
  return *keys;
}

const Section* FindSection(std::string_view name) {
  for (const Section& section : Sections()) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

}  // namespace metis::config
