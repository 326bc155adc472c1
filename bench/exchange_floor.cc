#include "bench/exchange_floor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "bench/limits.h"
#include "metis/core/check.h"
#include "metis/core/text.h"

namespace metis::bench {
namespace {

constexpr int kRepetitions = 5;  // the fastest counts
constexpr size_t kBlock = size_t{1} << 20;

double Fastest(const std::function<void()>& work) {
  double fastest = 1e9;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    fastest = std::min(
        fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return fastest;
}

void SendAll(int socket, const std::vector<float>& model) {
  const char* at = reinterpret_cast<const char*>(model.data());
  size_t left = model.size() * sizeof(float);
  while (left > 0) {
    const ssize_t sent = send(socket, at, std::min(left, kBlock), 0);
    METIS_CHECK(sent > 0);
    at += sent;
    left -= static_cast<size_t>(sent);
  }
}

void ReceiveAll(int socket, std::vector<float>& model) {
  char* at = reinterpret_cast<char*>(model.data());
  size_t left = model.size() * sizeof(float);
  while (left > 0) {
    const ssize_t received = recv(socket, at, std::min(left, kBlock), 0);
    METIS_CHECK(received > 0);
    at += received;
    left -= static_cast<size_t>(received);
  }
}

// A connected pair of TCP sockets on loopback.
std::pair<int, int> Connected() {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  METIS_CHECK(bind(listening, reinterpret_cast<sockaddr*>(&address), length) == 0);
  METIS_CHECK(listen(listening, 1) == 0);
  METIS_CHECK(getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  const int out = socket(AF_INET, SOCK_STREAM, 0);
  METIS_CHECK(connect(out, reinterpret_cast<sockaddr*>(&address), length) == 0);
  const int in = accept(listening, nullptr, nullptr);
  METIS_CHECK(in >= 0);
  close(listening);
  return {out, in};
}

}  // namespace

Floor MeasureFloor(uint32_t learners, size_t model_bytes, const std::string& directory) {
  const size_t size = model_bytes / sizeof(float);
  std::vector<std::vector<float>> at_learner(learners, std::vector<float>(size, 0.5f));
  std::vector<std::vector<float>> at_controller(learners, std::vector<float>(size, 0.25f));
  std::vector<std::pair<int, int>> sockets;
  for (uint32_t k = 0; k < learners; ++k) sockets.push_back(Connected());
  Floor floor;
  floor.tcp = Fastest([&] {
    std::vector<std::thread> threads;
    for (uint32_t k = 0; k < learners; ++k) {
      threads.emplace_back([&, k] {
        SendAll(sockets[k].first, at_learner[k]);
        ReceiveAll(sockets[k].first, at_learner[k]);
      });
      threads.emplace_back([&, k] {
        ReceiveAll(sockets[k].second, at_controller[k]);
        SendAll(sockets[k].second, at_controller[k]);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  for (const auto& [out, in] : sockets) {
    close(out);
    close(in);
  }
  uint32_t seen = 0;
  floor.read = Fastest([&] {
    for (const auto& model : at_controller) seen ^= ReadPass(model.data(), size);
  });
  METIS_CHECK(seen != 1);
  floor.write = Fastest([&] {
    for (uint32_t k = 0; k < learners; ++k) {
      const std::string path = Text(directory, "/floor-", k);
      const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      METIS_CHECK(file >= 0);
      const auto* bytes = reinterpret_cast<const char*>(at_controller[k].data());
      for (uint64_t done = 0; done < model_bytes;) {  // one call writes at most 2 GiB
        const ssize_t written = write(file, bytes + done, model_bytes - done);
        METIS_CHECK(written > 0);
        done += static_cast<uint64_t>(written);
      }
      METIS_CHECK(fsync(file) == 0);
      close(file);
      unlink(path.c_str());
    }
  });
  return floor;
}

}  // namespace metis::bench
