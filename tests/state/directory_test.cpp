#include "state/directory.hpp"
#include "base/files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::state {
namespace {

using test::failure_of;
using test::TempDirectory;

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

TEST_SUITE_BEGIN("state/directory");

TEST_CASE("the first of FASTGPU_STATE_DIR, XDG_STATE_HOME and HOME decides") {
  CHECK(choose_directory(environment({{"FASTGPU_STATE_DIR", "/s"}, {"HOME", "/h"}})) == "/s");
  CHECK(choose_directory(environment({{"XDG_STATE_HOME", "/x"}, {"HOME", "/h"}})) == "/x/fastgpu");
  CHECK(choose_directory(environment({{"HOME", "/h"}})) == "/h/.local/state/fastgpu");
}

TEST_CASE("empty variables and a relative XDG_STATE_HOME count as unset") {
  CHECK(choose_directory(
            environment({{"FASTGPU_STATE_DIR", ""}, {"XDG_STATE_HOME", "x"}, {"HOME", "/h"}})) ==
        "/h/.local/state/fastgpu");
  CHECK(failure_of([] { choose_directory(environment({})); }).kind() == ErrorKind::usage);
}

TEST_CASE("a relative HOME is shown, and an absent one is not set") {
  const auto refusal = [](const std::map<std::string, std::string>& set) {
    return std::string(failure_of([&] { choose_directory(environment(set)); }).what());
  };
  CHECK(refusal({}).find("HOME is not set; set it or FASTGPU_STATE_DIR") != std::string::npos);
  CHECK(refusal({{"HOME", ""}}).find("HOME is not set") != std::string::npos);
  CHECK(refusal({{"HOME", "here"}}).find("HOME='here' is not an absolute path") !=
        std::string::npos);
}

TEST_CASE("a file where a directory should be is named") {
  const TempDirectory temp;
  write_private_file(temp.path() / "file", "x");
  const Error e = failure_of([&] { make_private_directory(temp.path() / "file" / "sub"); });
  CHECK(e.kind() == ErrorKind::local);
  CHECK(std::string(e.what()).find("file") != std::string::npos);
}

TEST_CASE("a private file is 0600, replaced whole, and read back") {
  const TempDirectory temp;
  const auto path = temp.path() / "key";
  CHECK_FALSE(read_file(path));
  write_private_file(path, std::string(10'000, 'a'));
  write_private_file(path, "short");
  CHECK(read_file(path) == "short");
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("an identity out of a cloud's tag leads nowhere else") {
  const std::vector<std::string> names{"..",      "../../home", "a/b", "/etc",
                                       ".hidden", "a\nb",       "A",   std::string(65, 'a')};
  for (const std::string& text : names) {
    CAPTURE(text);
    CHECK(failure_of([&] { cluster_directory("/s", {text}); }).kind() == ErrorKind::remote);
  }
}

TEST_CASE("a cluster's key lies in the cluster's own place") {
  CHECK(identity_file("/s", {"0badcafe"}) == "/s/clusters/0badcafe/id_ed25519");
}

TEST_CASE("a file of the state directory that belongs to root is named as that, with a remedy") {
  if (::geteuid() != 0) return;  // Only root can be another account.
  const TempDirectory directory;
  const auto file = directory.path() / "locks" / "a.lock";
  std::filesystem::create_directories(file.parent_path());
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0755));
  std::ofstream(file) << "x";
  REQUIRE(::seteuid(65'534) == 0);
  const Error e = state_file_error("opening the lock", file, EACCES);
  REQUIRE(::seteuid(0) == 0);
  CHECK(e.kind() == ErrorKind::denied);
  CHECK(std::string(e.what()) ==
        "opening the lock " + file.string() +
            ": Permission denied: it belongs to root, as after a command with sudo; give it back: "
            "sudo chown -R 65534 " +
            directory.path().string());
  CHECK(std::string(state_file_error("opening the lock", file, EACCES).what()) ==
        "opening the lock " + file.string() + ": Permission denied");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::state
