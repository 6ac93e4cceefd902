#include "envs/facts/probe.hpp"

#include <doctest/doctest.h>
#include <sys/utsname.h>

#include <fstream>

#include "fakes/fake_ssh.hpp"
#include "fakes/local_shell_ssh.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::envs {
namespace {

TEST_SUITE_BEGIN("envs probe");

TEST_CASE("this machine's own shell answers the probe") {
  const test::TempDirectory directory;
  test::LocalShellSsh ssh(directory.path());
  ssh.set_path("/usr/bin:/bin");
  std::filesystem::create_directory(directory.path() / "a");
  const std::vector<ssh::Host> hosts = {{.name = {"a"}}};
  const Cancel never;

  const auto results = probe(ssh, hosts, {"bash"}, {}, never);

  REQUIRE(results.size() == 1);
  if (!results[0].ok()) FAIL(results[0].error().what());
  const NodeFacts& facts = results[0].value();
  utsname self{};
  REQUIRE(::uname(&self) == 0);
  CHECK(facts.host == self.nodename);
  CHECK(facts.kernel == self.release);
  CHECK(facts.arch == self.machine);
  CHECK_FALSE(facts.boot_id.empty());
  CHECK_FALSE(facts.os.id.empty());
  CHECK_FALSE(facts.disks.empty());
  CHECK(facts.memory.count > 0);
}

TEST_CASE("CANN is found where its installer of 8.5 and later puts it") {
  const test::TempDirectory directory;
  test::LocalShellSsh ssh(directory.path());
  ssh.set_path("/usr/bin:/bin");
  for (const auto& [toolkit, version] :
       {std::pair{"ascend-toolkit/latest", "8.3.RC1"}, {"cann", "8.5.0"}}) {
    const auto place = directory.path() / "a/Ascend" / toolkit / "aarch64-linux";
    std::filesystem::create_directories(place);
    std::ofstream(place / "ascend_toolkit_install.info")
        << "package_name=x\nversion=" << version << "\n";
  }
  const std::vector<ssh::Host> hosts = {{.name = {"a"}}};
  const Cancel never;

  const auto results = probe(ssh, hosts, {}, {}, never);

  CHECK(results.at(0).value().cann == "8.5.0");
  CHECK(results.at(0).value().canns == std::vector<std::string>{"8.5.0", "8.3.RC1"});
}

TEST_CASE("each host has its own outcome: an answer, a failed script, a lost connection") {
  test::FakeSsh ssh([](const test::FakeSsh::Seen& seen) -> test::FakeReply {
    if (seen.host == "good") return {.out = "fastgpu-facts\t1\nhost\tgood\nend\n"};
    if (seen.host == "bad") return {.exit = {.status = 127}, .err = "sh: not found\n"};
    return {.failure = Error(ErrorKind::transient, "connection refused")};
  });
  const std::vector<ssh::Host> hosts = {{.name = {"good"}}, {.name = {"bad"}}, {.name = {"gone"}}};
  const Cancel never;

  const auto results = probe(ssh, hosts, {"a b"}, {}, never);

  CHECK(results[0].value().host == "good");
  CHECK(results[1].error().kind() == ErrorKind::remote);
  CHECK(std::string(results[1].error().what()) ==
        "checking the node ended with exit status 127: sh: not found\\n");
  CHECK(results[2].error().kind() == ErrorKind::transient);
  CHECK(ssh.seen[0].command == "exec sh -s -- 'a b'");
  CHECK(ssh.seen[0].input == probe_script());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::envs
