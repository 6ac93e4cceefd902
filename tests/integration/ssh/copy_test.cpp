#include "remote/copy.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>

#include <deque>

#include "ssh/ssh_client.hpp"
#include "support/failure.hpp"
#include "support/sshd_fixture.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

class CopyWorld {
 public:
  explicit CopyWorld(std::size_t count) : sshds(count) {
    for (const test::Sshd& sshd : sshds)
      hosts.push_back(sshd.host("n" + std::to_string(hosts.size())));
    agent =
        remote::read_agent_program(std::string(FASTGPU_BUILD_ROOT) + "/src/agent/fastgpu-agent");
  }

  auto to(const Paths& sources, const std::string& destination) {
    return remote::copy_to(client, hosts, sources, destination, agent, {}, nullptr, cancel);
  }
  auto from(const std::vector<std::string>& sources, const fs::path& destination) {
    return remote::copy_from(client, hosts, sources, destination, agent, {}, nullptr, cancel);
  }

  std::deque<test::Sshd> sshds;
  std::vector<ssh::Host> hosts;
  remote::AgentProgram agent;
  ssh::SshClient client;
  Cancel cancel;
  test::TempDirectory here;
};

constexpr auto kMode = fs::perms::owner_read | fs::perms::owner_write;

bool same_trees(const fs::path& a, const fs::path& b) {
  const std::string list = " && find . -printf '%P %y %m %T@ %l\\n' | sort";
  const std::string command = "diff -r --no-dereference '" + a.string() + "' '" + b.string() +
                              "' && test \"$(cd '" + a.string() + "'" + list + ")\" = \"$(cd '" +
                              b.string() + "'" + list + ")\"";
  return std::system(command.c_str()) == 0;
}

fs::path nasty_tree(const fs::path& root) {
  fs::create_directories(root / "a b" / "$c;d");
  fs::create_directory(root / "empty");
  test::write_file(root / "empty file", "", kMode);
  test::write_file(root / "a b/'quoted\"\n", "text", kMode | fs::perms::owner_exec);
  test::write_file(root / "a b/\xff\x01", std::string(3'000'000, '\0') + "x", kMode);
  fs::create_symlink("../nowhere", root / "link");
  return root;
}

TEST_SUITE_BEGIN("integration/ssh/copy");

TEST_CASE("a nasty tree comes back from four hosts as it went there") {
  CopyWorld world(4);
  const fs::path tree = nasty_tree(world.here.path() / "tree");
  for (const auto& result : world.to({tree}, "")) {
    REQUIRE_MESSAGE(result.ok(), result.error().what());
    CHECK(result.value().bytes == 3'000'005);
  }
  for (const test::Sshd& sshd : world.sshds)
    CHECK(same_trees(tree, sshd.home() / "tree"));
  for (const auto& result : world.from({"tree"}, world.here.path() / "back"))
    REQUIRE_MESSAGE(result.ok(), result.error().what());
  for (const char* host : {"n0", "n1", "n2", "n3"})
    CHECK(same_trees(tree, world.here.path() / "back" / host / "tree"));
}

TEST_CASE("one host is copied from straight") {
  CopyWorld world(1);
  test::write_file(world.sshds[0].home() / "f", "x", kMode);
  const auto results = world.from({"~/f"}, world.here.path() / "g");
  REQUIRE_MESSAGE(results[0].ok(), results[0].error().what());
  CHECK(test::read_file(world.here.path() / "g") == "x");
}

TEST_CASE("what is missing is not_found on either side, with its name") {
  CopyWorld world(1);
  const Error here = test::failure_of([&] { world.to({world.here.path() / "none"}, ""); });
  CHECK(here.kind() == ErrorKind::not_found);
  CHECK(std::string(here.what()).find("/none does not exist") != std::string::npos);
  const auto from = world.from({"none"}, world.here.path());
  REQUIRE(!from[0].ok());
  CHECK(from[0].error().kind() == ErrorKind::not_found);
  CHECK(std::string(from[0].error().what()).find("/none does not exist") != std::string::npos);
  test::write_file(world.here.path() / "f", "x", kMode);
  const auto nowhere = world.to({world.here.path() / "f"}, "no/such/dir/");
  REQUIRE(!nowhere[0].ok());
  CHECK(nowhere[0].error().kind() == ErrorKind::not_found);
}

TEST_CASE("a trial finds what a copy would, and leaves nothing there") {
  CopyWorld world(2);
  const fs::path file = world.here.path() / "f";
  test::write_file(file, "x", kMode);
  const auto trial = [&](const Paths& sources, const std::string& destination) {
    return remote::try_copy_to(world.client, world.hosts, sources, destination, world.agent, {},
                               world.cancel);
  };
  const auto before = std::distance(fs::directory_iterator(world.sshds[0].home()), {});
  REQUIRE(trial({file}, "g")[1].ok());  // Puts the agent there.
  const auto with_agent = std::distance(fs::directory_iterator(world.sshds[0].home()), {});
  CHECK(with_agent <= before + 1);
  CHECK_FALSE(fs::exists(world.sshds[0].home() / "g"));
  for (const char* destination : {"no/such/g", "g/"}) {
    const auto results = trial({file}, destination);
    for (const auto& result : results) {
      REQUIRE(!result.ok());
      CHECK(result.error().kind() == ErrorKind::not_found);
    }
  }
  CHECK(trial({world.here.path()}, "g/")[0].ok());
  CHECK_FALSE(trial({file, file}, "g")[0].ok());
  CHECK(test::failure_of([&] { trial({world.here.path() / "none"}, ""); }).kind() ==
        ErrorKind::not_found);
  const auto home = fs::space(world.sshds[0].home());
  fs::resize_file(file, home.available + (1ULL << 30));  // A hole.
  const auto full = trial({file}, "g");
  REQUIRE(!full[0].ok());
  CHECK(full[0].error().kind() == ErrorKind::capacity);
  CHECK(std::distance(fs::directory_iterator(world.sshds[0].home()), {}) == with_agent);
}

TEST_CASE("a trial of a copy from hosts finds what is missing there and here") {
  CopyWorld world(2);
  for (const test::Sshd& sshd : world.sshds)
    test::write_file(sshd.home() / "f", "x", kMode);
  const auto trial = [&](const std::vector<std::string>& sources, const fs::path& destination) {
    return remote::try_copy_from(world.client, world.hosts, sources, destination, world.agent, {},
                                 world.cancel);
  };
  const fs::path back = world.here.path() / "back";
  CHECK(trial({"f"}, back)[1].ok());
  CHECK_FALSE(fs::exists(back));
  fs::remove(world.sshds[1].home() / "f");
  const auto results = trial({"f"}, back);
  CHECK(results[0].ok());
  REQUIRE(!results[1].ok());
  CHECK(results[1].error().kind() == ErrorKind::not_found);
  test::write_file(back, "x", kMode);
  CHECK_THROWS_AS(trial({"f"}, back), Error);
}

TEST_CASE("a full disk is capacity, and leaves nothing there") {
  CopyWorld world(1);
  const fs::path mount = world.sshds[0].home() / "small";
  fs::create_directory(mount);
  if (::mount("tmpfs", mount.c_str(), "tmpfs", 0, "size=1M") != 0) return;  // Needs root.
  test::write_file(world.here.path() / "f", std::string(5'000'000, 'x'), kMode);
  const auto results = world.to({world.here.path() / "f"}, "small/");
  const bool empty = fs::is_empty(mount);
  ::umount2(mount.c_str(), MNT_DETACH);
  REQUIRE(!results[0].ok());
  CHECK(results[0].error().kind() == ErrorKind::capacity);
  CHECK(empty);
}

TEST_CASE("a copy of a client that is killed leaves nothing visible") {
  CopyWorld world(1);
  test::write_file(world.here.path() / "f", "warm", kMode);
  world.to({world.here.path() / "f"}, "");
  fs::resize_file(world.here.path() / "f", 4'000'000'000);
  const pid_t client = ::fork();
  if (client == 0) {
    world.to({world.here.path() / "f"}, "big");
    ::_exit(0);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ::kill(client, SIGKILL);
  ::waitpid(client, nullptr, 0);
  const auto visible = [&] {
    for (const auto& item : fs::directory_iterator(world.sshds[0].home()))
      if (item.path().filename().string().starts_with(".fastgpu-copy-")) return true;
    return false;
  };
  for (int i = 0; i < 300 && visible(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(!visible());
  CHECK(!fs::exists(world.sshds[0].home() / "big"));
}

TEST_CASE("a cancel in the middle is interrupted") {
  CopyWorld world(2);
  test::write_file(world.here.path() / "f", "x", kMode);
  world.to({world.here.path() / "f"}, "");
  fs::resize_file(world.here.path() / "f", 1'000'000'000);
  struct Stop final : remote::CopyProgress {
    explicit Stop(Cancel& all) : cancel(all) {}
    void moved(std::size_t, std::uint64_t bytes) override {
      if (bytes > 10'000'000) cancel.request();
    }
    Cancel& cancel;
  } stop(world.cancel);
  const auto results = remote::copy_to(world.client, world.hosts, {world.here.path() / "f"}, "big",
                                       world.agent, {}, &stop, world.cancel);
  for (const auto& result : results) {
    REQUIRE(!result.ok());
    CHECK(result.error().kind() == ErrorKind::interrupted);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
