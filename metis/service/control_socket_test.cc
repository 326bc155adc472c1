#include "metis/service/control_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "metis/core/testing.h"
#include "metis/report/run_directory.h"
#include "metis/store/posix_file.h"

namespace metis::service {
namespace {

using testing::StartsWith;

class ControlSocketTest : public FileTest {
 protected:
  std::string MakeRun(const std::string& name) const {
    std::filesystem::create_directories(Path(name));
    std::ofstream(Path(name) + "/" + report::kEventsFile);
    return Path(name);
  }
  static store::File Listen(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    store::File file(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(file.get(), 1), 0);
    return file;
  }
};

TEST_F(ControlSocketTest, IsFoundWhileItsControllerListens) {
  const std::string run = MakeRun("run");
  EXPECT_EQ(FindControl(Path("absent")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(FindControl(run).error().code, ErrorCode::kUnavailable);
  {
    const ControlSocket control = ControlSocket::Make(run).value();
    const store::File server = Listen(control.path());
    EXPECT_EQ(FindControl(run).error().code, ErrorCode::kUnavailable) << "not announced yet";
    ASSERT_TRUE(control.Announce());
    EXPECT_EQ(FindControl(run).value(), control.path());
    EXPECT_EQ(FindRunning(directory().string()).value(), run);
  }
  EXPECT_EQ(FindControl(run).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(FindRunning(directory().string()).error().code, ErrorCode::kNotFound);
}

TEST_F(ControlSocketTest, OfALongPathIsElsewhereAndGoesWithItsController) {
  const std::string run = MakeRun(std::string(120, 'r'));
  std::string path;
  {
    const ControlSocket control = ControlSocket::Make(run).value();
    path = control.path();
    EXPECT_THAT(path, StartsWith("/tmp/"));
    const store::File server = Listen(path);
    ASSERT_TRUE(control.Announce());
    EXPECT_EQ(FindControl(run).value(), path);
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

}  // namespace
}  // namespace metis::service
