#include "provision/cloud/ownership.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

using namespace std::chrono_literals;
using test::failure_of;

Machine machine(const std::string& id, int index, const OwnerTags& marks) {
  return {.id = id, .index = index, .state = MachineState::running, .marks = marks};
}

bool is_taken_by_every_cloud(const std::string& value) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
  return !value.empty() && value.size() <= 43 &&
         value.find_first_not_of(kLetters) == std::string::npos;
}

TEST_CASE("what is written on machines is of letters, and no longer, than every cloud takes") {
  const std::string digest = "SHA256:+/Ba12QfVUkUbZHlJLR0wWYYcQrjWbXNDWbCwHlZ9aw";
  CHECK(host_key_mark(digest) == "-_Ba12QfVUkUbZHlJLR0wWYYcQrjWbXNDWbCwHlZ9aw");
  CHECK(is_taken_by_every_cloud(host_key_mark(digest)));
  const auto now = std::chrono::system_clock::time_point(1'795'331'880s);
  CHECK(taken_mark(now, "anna", "laptop") == "20261122T071800Z_anna_laptop");
  CHECK(is_taken_by_every_cloud(
      taken_mark(now, "anna_b", "host_\xff with spaces and a very long name.example")));
}

TEST_CASE("a machine that carries no mark is everybody's") {
  CHECK(is_owned_by(machine("m", 0, {{"c"}, "t", ""}), "us"));
  CHECK(is_owned_by(machine("m", 0, {{"c"}, "t", "us"}), "us"));
  CHECK_FALSE(is_owned_by(machine("m", 0, {{"c"}, "t", "them"}), "us"));
}

TEST_CASE("whatever a tag says of a takeover is shown as words or not at all") {
  Machine taken = machine("m", 0, {{"c"}, "t", "them"});
  taken.taken = "nonsense";
  CHECK(owner_text(taken.marks.owner, taken.taken) == "state directory them");
  CHECK(owner_text("them", "20261122T071800Z_laptop") ==
        "laptop on 2026-11-22 at 07:18 UTC (state directory them)");
  CHECK(owner_text("them", "20261122T071800Z_anna_laptop") ==
        "anna@laptop on 2026-11-22 at 07:18 UTC (state directory them)");
}

TEST_CASE("of a cluster that was renamed all machines are found by either name") {
  const std::vector<Machine> all = {machine("a", 0, {{"1"}, "first", "us"}),
                                    machine("b", 1, {{"1"}, "second", "us"}),
                                    machine("c", 0, {{"2"}, "other", "us"})};
  CHECK(machines_named(all, "first", "").size() == 2);
  CHECK(machines_named(all, "second", "").size() == 2);
}

TEST_CASE("a cluster is found by its name; where several have it, by its identity too") {
  const std::vector<Machine> all = {machine("a", 0, {{"1"}, "t", "us"}),
                                    machine("b", 0, {{"2"}, "t", "them"}),
                                    machine("c", 0, {{"3"}, "u", "us"})};
  CHECK(machines_named(all, "u", "").front().id == "c");
  CHECK(machines_named(all, "t", "2").front().id == "b");
  const Error several = failure_of([&] { machines_named(all, "t", ""); });
  CHECK(several.kind() == ErrorKind::conflict);
  CHECK(std::string(several.what()).find("--id") != std::string::npos);
  const Error none = failure_of([&] { machines_named(all, "x", ""); });
  CHECK(none.kind() == ErrorKind::not_found);
  CHECK(std::string(none.what()).find("t, u") != std::string::npos);
}

TEST_CASE("machines that end are not found") {
  std::vector<Machine> all = {machine("a", 0, {{"1"}, "t", "us"})};
  all.front().state = MachineState::ending;
  CHECK(failure_of([&] { machines_named(all, "t", ""); }).kind() == ErrorKind::not_found);
}

TEST_CASE("the head node is the one with the lowest index, where each has one machine") {
  const OwnerTags marks{{"1"}, "t", "us"};
  const std::vector<Machine> all = {machine("b", 2, marks), machine("a", 1, marks)};
  CHECK(head_of(all).id == "a");
  const std::vector<Machine> twice = {machine("b", 1, marks), machine("a", 1, marks)};
  CHECK(failure_of([&] { head_of(twice); }).kind() == ErrorKind::conflict);
  const std::vector<Machine> unknown = {machine("b", -1, marks)};
  CHECK(failure_of([&] { head_of(unknown); }).kind() == ErrorKind::conflict);
}

}  // namespace
}  // namespace fastgpu::provision::cloud
