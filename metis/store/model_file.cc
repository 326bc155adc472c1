#include "metis/store/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "metis/core/archive.h"
#include "metis/core/fingerprint.h"
#include "metis/core/text.h"
#include "metis/store/posix_file.h"

namespace metis::store {

struct ModelFileHeader {
  ModelFacts facts;
  std::vector<TensorSpec> tensors;
};

}  // namespace metis::store

namespace metis {

template <typename A>
void Fields(A& archive, TensorSpec& tensor) {
  archive("name", tensor.name);
  archive("shape", tensor.shape);
}

}  // namespace metis

namespace metis::store {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'m', 'e', 't', 'i', 's', 'm', 'd', 'l'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMostHeaderBytes = uint64_t{64} << 20;  // a schema of a million tensors

// Little-endian, as it lies in the file.
struct Preamble {
  char magic[8] = {};
  uint32_t version = 0;
  uint32_t reserved = 0;
  uint64_t header_bytes = 0;
  uint64_t parameters = 0;
  uint64_t header_checksum = 0;
  uint64_t values_checksum = 0;
};
static_assert(sizeof(Preamble) == 48);

template <typename A>
void Fields(A& archive, ModelFileHeader& header) {
  archive("facts", header.facts);
  archive("tensors", header.tensors);
}

uint64_t ValuesOffset(uint64_t header_bytes) {
  return (sizeof(Preamble) + header_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Result<void> WriteDurably(const std::string& path, std::string_view head, const Model& model) {
  File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.ok()) return Failed("creating it", path);
  if (!WriteAll(file.get(), head.data(), head.size()) ||
      !WriteAll(file.get(), model.bytes().data(), model.bytes().size()) ||
      ::fsync(file.get()) != 0) {
    return Failed("writing", path);
  }
  return {};
}

bool IsFactName(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(kAllowed) == std::string_view::npos;
}

// What the preamble promises, held against the size of the file.
Result<void> CheckPreamble(const Preamble& preamble, uint64_t file_bytes) {
  if (std::memcmp(preamble.magic, kMagic, sizeof kMagic) != 0) {
    return Invalid(
        "this is no model file of Metis; a .pt file is brought in with `metis model import`");
  }
  if (preamble.version != kVersion) {
    return Invalid(Text("the file has format ", preamble.version, ", this program reads format ",
                        kVersion, ": was it written by a newer Metis?"));
  }
  const bool plausible = preamble.header_bytes <= kMostHeaderBytes &&
                         preamble.parameters <= file_bytes / sizeof(float);
  const uint64_t wanted =
      plausible ? ValuesOffset(preamble.header_bytes) + preamble.parameters * sizeof(float) : 0;
  if (!plausible || wanted != file_bytes) {
    return Invalid(Text("the file has ", file_bytes, " bytes, not the number that its first ",
                        sizeof(Preamble), " bytes tell: it is cut off or damaged"));
  }
  return {};
}

Result<ModelFileHeader> ReadHeader(int file, const Preamble& preamble) {
  std::string bytes(preamble.header_bytes, '\0');
  std::string padding(ValuesOffset(preamble.header_bytes) - sizeof(Preamble) - bytes.size(), '\0');
  if (!ReadAll(file, bytes.data(), bytes.size()) ||
      !ReadAll(file, padding.data(), padding.size())) {
    return Invalid("the file ended while it was read");
  }
  if (Fingerprint(bytes) != preamble.header_checksum) {
    return Invalid(Text("the header at offset ", sizeof(Preamble),
                        " does not match its checksum: the file is damaged"));
  }
  ModelFileHeader header;
  const Archived archived{std::move(bytes), {}};
  BinaryReader reader(archived);
  Fields(reader, header);
  if (Result<void> whole = reader.Finish(); !whole) return whole.error().In("header");
  return header;
}

Result<ModelFile> Read(int file, uint64_t file_bytes) {
  Preamble preamble;
  if (file_bytes < sizeof preamble || !ReadAll(file, &preamble, sizeof preamble)) {
    return Invalid(Text("the file has ", file_bytes, " bytes: too short for a model file"));
  }
  if (Result<void> checked = CheckPreamble(preamble, file_bytes); !checked) return checked.error();
  Result<ModelFileHeader> header = ReadHeader(file, preamble);
  if (!header) return header.error();
  Result<SchemaPtr> schema = ModelSchema::Create(std::move(header->tensors));
  if (!schema) return schema.error().In("schema");
  if ((*schema)->parameters() != preamble.parameters) {
    return Invalid(Text("the schema has ", (*schema)->parameters(), " parameters, the file ",
                        preamble.parameters));
  }
  ModelPool pool(*schema);
  ModelDraft draft = pool.Draft();
  if (!ReadAll(file, draft.parameters().data(), (*schema)->bytes())) {
    return Invalid("the file ended while it was read");
  }
  ModelPtr model = std::move(draft).Seal();
  if (model->Fingerprint() != preamble.values_checksum) {
    return Invalid(Text("the values at offset ", ValuesOffset(preamble.header_bytes),
                        " do not match their checksum: the file is damaged"));
  }
  return ModelFile{std::move(header->facts), std::move(model)};
}

}  // namespace

Result<void> WriteModelFile(const std::string& path, const ModelFacts& facts, const Model& model) {
  for (const auto& [name, value] : facts) {
    if (!IsFactName(name)) {
      return Invalid(Text("\"", name, "\" is no name of a fact: 1 to 64 letters, digits, - _ ."));
    }
  }
  ModelFileHeader header{facts, model.schema()->tensors()};
  BinaryWriter writer;
  Fields(writer, header);
  const std::string& bytes = writer.archived().bytes;
  Preamble preamble;
  std::memcpy(preamble.magic, kMagic, sizeof kMagic);
  preamble.version = kVersion;
  preamble.header_bytes = bytes.size();
  preamble.parameters = model.size();
  preamble.header_checksum = Fingerprint(bytes);
  preamble.values_checksum = model.Fingerprint();

  std::string head(ValuesOffset(bytes.size()), '\0');
  std::memcpy(head.data(), &preamble, sizeof preamble);
  std::memcpy(head.data() + sizeof preamble, bytes.data(), bytes.size());
  const std::string fresh = Text(path, ".", ::getpid(), ".new");
  Result<void> written = WriteDurably(fresh, head, model);
  if (written && ::rename(fresh.c_str(), path.c_str()) != 0) written = Failed("renaming", path);
  if (!written) {
    ::unlink(fresh.c_str());
    return written;
  }
  (void)SyncDirectory(fs::path(path).parent_path());  // whole in any case, if not durable yet
  return {};
}

Result<ModelFile> ReadModelFile(const std::string& path) {
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return Failed("opening it", path);
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return Failed("asking for its size", path);
  if (!S_ISREG(status.st_mode)) return Invalid(Text(path, ": this is not a file"));
  Result<ModelFile> read = Read(file.get(), static_cast<uint64_t>(status.st_size));
  if (!read) return read.error().In(path);
  return read;
}

}  // namespace metis::store
