#include "metis/store/blob_store.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "metis/core/text.h"
#include "metis/store/posix_file.h"

namespace metis::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".new";  // ends the name of a file that is being written
constexpr size_t kDigestBytes = 32;

std::string Sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, kDigestBytes> digest;
  METIS_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name;
  for (unsigned char byte : digest) {
    name.push_back(kDigits[byte >> 4]);
    name.push_back(kDigits[byte & 15]);
  }
  return name;
}

bool IsBlobName(std::string_view name) {
  return name.size() == 2 * kDigestBytes &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<uint64_t> SizeOf(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace

struct BlobStore::State {
  // A model that is known to be on the disk; expired once nobody holds it any more.
  struct Kept {
    std::weak_ptr<const Model> model;
    std::string name;
  };

  State(std::string place, ModelPool& buffers, ProcessLock own)
      : directory(std::move(place)), pool(buffers), lock(std::move(own)) {}

  std::string PathOf(const std::string& name) const { return Text(directory, "/", name); }
  Result<void> Write(const Model& model, const std::string& path) const;

  // --- Under the mutex
  const std::string* NameOf(const ModelPtr& model) const {
    const auto found = kept.find(model.get());
    // An address may be used again: only the same object counts.
    const bool same = found != kept.end() && found->second.model.lock() == model;
    return same ? &found->second.name : nullptr;
  }
  bool IsHeld(const std::string& name) const {
    if (writing.contains(name)) return true;
    const auto [begin, end] = holders.equal_range(name);
    return std::any_of(begin, end, [](const auto& each) { return !each.second.expired(); });
  }
  void Remember(const ModelPtr& model, const std::string& name) {
    if (kept.size() >= forget_at) Forget();
    kept[model.get()] = {model, name};
    holders.emplace(name, model);
  }
  // Models that are gone.
  void Forget() {
    std::erase_if(kept, [](const auto& each) { return each.second.model.expired(); });
    std::erase_if(holders, [](const auto& each) { return each.second.expired(); });
    forget_at = std::max<size_t>(64, 2 * kept.size());
  }

  // Constant after construction.
  const std::string directory;
  ModelPool& pool;
  const ProcessLock lock;

  // Guarded by the mutex.
  mutable std::mutex mutex;
  std::condition_variable written;
  std::map<const Model*, Kept> kept;
  std::multimap<std::string, std::weak_ptr<const Model>> holders;  // of `kept`, by name
  std::set<std::string> writing;
  uint64_t bytes = 0;
  size_t forget_at = 64;
};

BlobStore::BlobStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
BlobStore::~BlobStore() = default;

Result<std::unique_ptr<BlobStore>> BlobStore::Open(const std::string& directory, ModelPool& pool) {
  std::error_code error;
  const bool made = fs::create_directories(directory, error);
  if (error) return Unavailable(Text(directory, ": making it failed: ", error.message()));
  Result<ProcessLock> lock = ProcessLock::Take(directory + "/lock", directory);
  if (!lock) return lock.error();
  auto state = std::make_unique<State>(directory, pool, *std::move(lock));
  fs::directory_iterator entries(directory, error);
  if (error) return Unavailable(Text(directory, ": reading it failed: ", error.message()));
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kUnfinished) &&
        IsBlobName(name.substr(0, name.size() - kUnfinished.size()))) {
      ::unlink(entry.path().c_str());  // what is left by mistake is replaced when it is kept again
    } else if (IsBlobName(name)) {
      state->bytes += SizeOf(entry.path().string()).value_or(0);
    }
  }
  // A process that was killed may have renamed a file and not come to this any more.
  if (Result<void> synced = SyncDirectory(directory); !synced) return synced.error();
  if (made) {
    Result<void> synced = SyncDirectory(fs::absolute(directory).parent_path());
    if (!synced) return synced.error();
  }
  return std::unique_ptr<BlobStore>(new BlobStore(std::move(state)));
}

Result<void> BlobStore::State::Write(const Model& model, const std::string& path) const {
  const std::string fresh = Text(path, kUnfinished);
  auto give_up = [&](std::string_view what) {
    Error error = Failed(what, fresh);
    ::unlink(fresh.c_str());
    return error;
  };
  {
    File file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.ok()) return Failed("creating it", fresh);
    const std::span<const std::byte> bytes = model.bytes();
    if (!WriteAll(file.get(), bytes.data(), bytes.size())) return give_up("writing");
    if (::fsync(file.get()) != 0) return give_up("making it durable");
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return give_up("renaming");
  if (Result<void> synced = SyncDirectory(directory); !synced) {
    ::unlink(path.c_str());  // a file that is there counts as durable
    return synced;
  }
  return {};
}

std::optional<std::string> BlobStore::Kept(const ModelPtr& model) const {
  std::lock_guard guard(state_->mutex);
  const std::string* name = state_->NameOf(model);
  return name != nullptr ? std::optional(*name) : std::nullopt;
}

Result<std::string> BlobStore::Keep(const ModelPtr& model) {
  METIS_CHECK(model != nullptr);
  const uint64_t size = model->bytes().size();
  if (size != state_->pool.schema()->bytes()) {
    return Invalid(Text(state_->directory, " holds models of ", state_->pool.schema()->bytes(),
                        " bytes, this one has ", size, ": it is of another schema"));
  }
  {
    std::lock_guard guard(state_->mutex);
    if (const std::string* name = state_->NameOf(model)) return *name;
  }
  const std::string name = Sha256(model->bytes());
  const std::string path = state_->PathOf(name);
  std::optional<uint64_t> before;
  {
    std::unique_lock guard(state_->mutex);
    state_->written.wait(guard, [&] { return !state_->writing.contains(name); });
    before = SizeOf(path);
    if (before == size) {
      state_->Remember(model, name);
      return name;
    }
    state_->writing.insert(name);
  }
  Result<void> written = state_->Write(*model, path);
  {
    std::lock_guard guard(state_->mutex);
    state_->writing.erase(name);
    if (written) {
      state_->Remember(model, name);
      state_->bytes += size - before.value_or(0);
    }
  }
  state_->written.notify_all();
  if (!written) return written.error();
  return name;
}

Result<ModelPtr> BlobStore::Read(const std::string& name) const {
  if (!IsBlobName(name))
    return Invalid(Text("\"", name, "\" names no model in ", state_->directory));
  const std::string path = state_->PathOf(name);
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) {
    const bool missing = errno == ENOENT;
    Error error = Failed("opening it", path);
    if (missing) error.message += ": restore it from a copy";
    return error;
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return Failed("asking for its size", path);
  ModelDraft draft = state_->pool.Draft();
  const std::span<std::byte> bytes = std::as_writable_bytes(draft.parameters());
  if (static_cast<uint64_t>(status.st_size) != bytes.size()) {
    return Invalid(Text(path, ": the file has ", status.st_size, " bytes, a model ", bytes.size(),
                        ": it is damaged, restore it from a copy (or of another schema)"));
  }
  if (!ReadAll(file.get(), bytes.data(), bytes.size())) return Failed("reading", path);
  if (Sha256(bytes) != name) {
    return Invalid(Text(path,
                        ": the values do not have the SHA-256 of the file's name: it is "
                        "damaged, restore it from a copy"));
  }
  ModelPtr model = std::move(draft).Seal();
  std::lock_guard guard(state_->mutex);
  state_->Remember(model, name);
  return model;
}

Result<void> BlobStore::RemoveAllBut(const std::set<std::string>& names) {
  std::error_code error;
  fs::directory_iterator entries(state_->directory, error);
  if (error) return Unavailable(Text(state_->directory, ": reading it failed: ", error.message()));
  std::vector<std::string> removable;
  for (const fs::directory_entry& entry : entries) {
    std::string name = entry.path().filename().string();
    if (IsBlobName(name) && !names.contains(name)) removable.push_back(std::move(name));
  }
  Result<void> removed;
  for (const std::string& name : removable) {
    const std::string path = state_->PathOf(name);
    // One file at a time under the mutex: nobody may find it there while it goes.
    std::lock_guard guard(state_->mutex);
    if (state_->IsHeld(name)) continue;
    const uint64_t size = SizeOf(path).value_or(0);
    if (::unlink(path.c_str()) == 0) {
      state_->bytes -= size;
    } else if (errno != ENOENT) {
      removed = Failed("removing", path);
    }
  }
  return removed;
}

uint64_t BlobStore::bytes() const {
  std::lock_guard guard(state_->mutex);
  return state_->bytes;
}

}  // namespace metis::store
