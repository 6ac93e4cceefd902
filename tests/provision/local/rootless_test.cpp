#include <doctest/doctest.h>

#include <cerrno>

#include "provision/providers/local/node_files.hpp"
#include "provision/providers/local/rootless/answers.hpp"
#include "provision/providers/local/rootless/prerequisites.hpp"
#include "support/failure.hpp"

using namespace fastgpu;
using namespace fastgpu::provision;
using namespace fastgpu::provision::local;

namespace {

RootlessFacts all_there() {
  RootlessFacts facts;
  facts.user = "ann";
  facts.newuidmap = "/usr/bin/newuidmap";
  facts.newgidmap = "/usr/bin/newgidmap";
  facts.fuse_overlayfs = "/usr/bin/fuse-overlayfs";
  facts.user_ids = facts.group_ids = IdRange{100'000, 65'536};
  return facts;
}

struct Case {
  const char* name;
  void (*spoil)(RootlessFacts&);
  ErrorKind kind;
  const char* what;
  const char* remedy;
};

const Case kCases[] = {
    {"the switch of Debian",
     [](RootlessFacts& facts) {
       facts.namespace_error = EPERM;
       facts.namespaces_switch = 0;
     },
     ErrorKind::denied, "kernel.unprivileged_userns_clone",
     "sysctl kernel.unprivileged_userns_clone=1"},
    {"the number of namespaces",
     [](RootlessFacts& facts) {
       facts.namespace_error = ENOSPC;
       facts.most_namespaces = 0;
     },
     ErrorKind::denied, "user.max_user_namespaces", "sysctl user.max_user_namespaces=15000"},
    {"all namespaces in use",
     [](RootlessFacts& facts) {
       facts.namespace_error = ENOSPC;
       facts.most_namespaces = 10;
     },
     ErrorKind::capacity, "in use", "a larger N"},
    {"the switch of Ubuntu",
     [](RootlessFacts& facts) {
       facts.namespace_error = EPERM;
       facts.apparmor_switch = 1;
     },
     ErrorKind::denied, "apparmor_restrict",
     "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
    {"a container's filter", [](RootlessFacts& facts) { facts.namespace_error = EPERM; },
     ErrorKind::denied, "Operation not permitted", "allow the system calls"},
    {"a covered /proc", [](RootlessFacts& facts) { facts.proc_error = EPERM; }, ErrorKind::local,
     "/proc cannot be mounted in a namespace (Operation not permitted)",
     "--security-opt systempaths=unconfined"},
    {"newuidmap", [](RootlessFacts& facts) { facts.newuidmap.clear(); }, ErrorKind::local,
     "newuidmap", "apt-get install uidmap"},
    {"newgidmap", [](RootlessFacts& facts) { facts.newgidmap.clear(); }, ErrorKind::local,
     "newgidmap", "apt-get install uidmap"},
    {"user ids", [](RootlessFacts& facts) { facts.user_ids.reset(); }, ErrorKind::denied,
     "user ann has no 65536 ids in /etc/subuid", "usermod --add-subuids"},
    {"group ids", [](RootlessFacts& facts) { facts.group_ids.reset(); }, ErrorKind::denied,
     "/etc/subgid", "usermod --add-subgids"},
    {"fuse-overlayfs", [](RootlessFacts& facts) { facts.fuse_overlayfs.clear(); }, ErrorKind::local,
     "fuse-overlayfs is missing", "apt-get install fuse-overlayfs"},
    {"no FUSE", [](RootlessFacts& facts) { facts.fuse_error = ENOENT; }, ErrorKind::local,
     "no /dev/fuse", "modprobe fuse"},
    {"FUSE for others", [](RootlessFacts& facts) { facts.fuse_error = EACCES; }, ErrorKind::denied,
     "/dev/fuse may not be opened (Permission denied)", "chmod 666 /dev/fuse"},
};

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("nothing stands in the way of a user who has everything") {
  CHECK(obstacles(all_there()).empty());
}

TEST_CASE("switches that are off matter only where namespaces cannot be made") {
  RootlessFacts facts = all_there();
  facts.apparmor_switch = 1;  // A profile of the program's own may allow what the switch forbids.
  CHECK(obstacles(facts).empty());
}

TEST_CASE("each thing that is missing is named with its remedy") {
  for (const Case& one : kCases) {
    CAPTURE(one.name);
    RootlessFacts facts = all_there();
    one.spoil(facts);
    const auto found = obstacles(facts);
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == one.kind);
    CHECK(has(found[0].what, one.what));
    CHECK(has(found[0].remedy, one.remedy));
  }
}

TEST_CASE("all that is missing is told at once, and what an administrator must allow counts most") {
  RootlessFacts facts = all_there();
  facts.newuidmap.clear();
  facts.user_ids.reset();
  const Error refusal = refusal_of(facts, obstacles(facts));
  CHECK(refusal.kind() == ErrorKind::denied);
  CHECK(has(refusal.what(), "user ann"));
  CHECK(has(refusal.what(), "apt-get install uidmap"));
  CHECK(has(refusal.what(), "usermod --add-subuids"));
  CHECK(has(refusal.what(), "--provider static"));
}

TEST_CASE("a user's ids are found by name or number, and a range that is too small is none") {
  constexpr const char* kText =
      "# comment\nann:1000:10\nbob:100000:65536\n1007:300000:70000\nann:200000:65536\ncut:5\n";
  CHECK(find_id_range(kText, "ann", 1001)->first == 200'000);
  CHECK(find_id_range(kText, "bob", 1002)->first == 100'000);
  CHECK(find_id_range(kText, "eve", 1007)->count == 70'000);
  CHECK_FALSE(find_id_range(kText, "cut", 1003));
  CHECK_FALSE(find_id_range(kText, "nobody", 65'534));
  CHECK_FALSE(find_id_range("ann:x:65536\nann:0:65536\nann:-5:65536\n", "ann", 1));
}

TEST_CASE("results cross from one process to another as they are") {
  Instance instance;
  instance.index = 3;
  instance.id = "0a1b2c3d/3";
  instance.token = "token";
  instance.state = InstanceState::running;
  instance.address = instance.private_address = "10.64.0.13";
  const auto results = decode_results(from_answer(to_answer(encode_results(
      {{{"t-3"}, instance}, {{"t-4"}, Error(ErrorKind::capacity, "no room \xff")}}))));
  REQUIRE(results.size() == 2);
  CHECK(results[0].host == NodeName{"t-3"});
  CHECK(results[0].value().index == 3);
  CHECK(results[0].value().id == instance.id);
  CHECK(results[0].value().token == "token");
  CHECK(results[0].value().state == InstanceState::running);
  CHECK(results[0].value().address == "10.64.0.13");
  CHECK(results[0].value().port == 22);
  CHECK(results[1].error().kind() == ErrorKind::capacity);
  CHECK(has(results[1].error().what(), "no room"));
}

TEST_CASE("a failure is thrown where its answer is read, and an answer cut off is one") {
  const Error told = test::failure_of(
      [] { from_answer(to_answer(Error(ErrorKind::conflict, "somebody has it"))); });
  CHECK(told.kind() == ErrorKind::conflict);
  CHECK(std::string(told.what()) == "somebody has it");
  CHECK(test::failure_of([] { from_answer("{\"val"); }).kind() == ErrorKind::local);
  CHECK(test::failure_of([] { from_answer(""); }).kind() == ErrorKind::local);
}

TEST_CASE("a shadow made of the user table opens every account to keys and none to a password") {
  CHECK(shadow_without_passwords("root:x:0:0:root:/root:/bin/sh\n\nbroken\n:x:\nann:x:1000:\n") ==
        "root:*:::::::\nann:*:::::::\n");
}
