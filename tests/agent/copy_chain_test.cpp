// A copy that goes from node to node: nodes are folders here, and ssh between them is a script.
#include <doctest/doctest.h>

#include "fakes/local_shell_ssh.hpp"
#include "remote/relay.hpp"
#include "support/agent_process.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu {
namespace {

namespace fs = std::filesystem;
using test::read_text;
using test::write_file;

const remote::AgentHash kHash{"0123456789abcdef"};

/// Three nodes, a, b and c.
class Chain {
 public:
  Chain() {
    write_file(place_.path() / "bin/ssh",
               "#!/bin/sh\nwhile [ \"$1\" = -F ] || [ \"$1\" = -o ]; do shift 2; done\n"
               "HOME='" +
                   homes().string() + "'/$1\nexport HOME\ncd && exec sh -c \"$2\"\n");
    fs::permissions(place_.path() / "bin/ssh", fs::perms::owner_all);
    client_.set_path((place_.path() / "bin").string() + ":" + ::getenv("PATH"));
    write_file(source(), "as it was sent");
    for (const char* name : {"a", "b", "c"}) {
      const auto agent = agent_of(name);
      fs::create_directories(agent.parent_path());
      fs::copy_file(test::agent_path(), agent);
      hosts_.push_back({.name = {name}});
    }
  }

  fs::path home(const std::string& node) const { return homes() / node; }
  fs::path source() const { return place_.path() / "data"; }

  /// From now on the node does that when it is to pass the copy on.
  void corrupt(const std::string& node, const std::string& relay) {
    const auto agent = agent_of(node);
    const auto real = home(node) / "real" / agent.filename();  // Other nodes call it by its name.
    fs::create_directories(real.parent_path());
    fs::rename(agent, real);
    write_file(agent, "#!/bin/sh\nreal='" + real.string() +
                          "'\nif [ \"$1\" = relay ]; then\nshift\n" + relay +
                          "\nfi\nexec \"$real\" \"$@\"\n");
    fs::permissions(agent, fs::perms::owner_all);
  }

  std::vector<HostResult<remote::Copied>> copy() {
    const remote::NodeRoute route{.config = "none", .names = {"a", "b", "c"}};
    const remote::AgentProgram agent{.file = test::agent_path(), .hash = kHash};
    return remote::copy_through(client_, hosts_, route, {source()}, "got", agent, {}, nullptr,
                                Cancel());
  }

 private:
  fs::path homes() const { return place_.path() / "homes"; }
  fs::path agent_of(const std::string& node) const {
    return home(node) / remote::agent_path(kHash);
  }

  test::TempDirectory place_;
  test::LocalShellSsh client_{homes()};
  std::vector<ssh::Host> hosts_;
};

TEST_SUITE_BEGIN("agent/copy_chain");

TEST_CASE("a copy goes through all nodes, each of which says that it has it") {
  Chain chain;
  for (const auto& result : chain.copy()) {
    REQUIRE_MESSAGE(result.ok(), std::string(result.error().what()));
    CHECK(result.value().passed_on);
    CHECK(read_text(chain.home(result.host.value) / "got") == "as it was sent");
  }
}

TEST_CASE("a node that says what those behind it have is not believed") {
  Chain chain;
  chain.corrupt("b", "cat >/dev/null; printf '0 0 1\\n1 0 1\\n18446744073709551615 0 1\\n'; exit");
  const auto results = chain.copy();
  for (const auto& result : results) {
    REQUIRE_MESSAGE(result.ok(), std::string(result.error().what()));
    CHECK(read_text(chain.home(result.host.value) / "got") == "as it was sent");
  }
  CHECK(results[0].value().passed_on);
}

TEST_CASE("a copy that one node cuts off reaches those behind it all the same") {
  Chain chain;
  chain.corrupt("b", "head -c 40 | \"$real\" relay \"$@\"; exit");
  for (const auto& result : chain.copy()) {
    REQUIRE_MESSAGE(result.ok(), std::string(result.error().what()));
    CHECK(read_text(chain.home(result.host.value) / "got") == "as it was sent");
  }
}

TEST_CASE("a node that passes on something else is found out") {
  Chain chain;
  write_file(chain.home("b") / "evil/data", "as it was changed");
  chain.corrupt("b", "cat >/dev/null; exec \"$real\" relay --from evil/data \"$@\"");
  const auto results = chain.copy();
  CHECK(read_text(chain.home("a") / "got") == "as it was sent");
  CHECK(read_text(chain.home("b") / "got") == "as it was sent");
  REQUIRE_FALSE(results[2].ok());
  CHECK(std::string(results[2].error().what()).find("c: what arrived is not what was sent") == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
