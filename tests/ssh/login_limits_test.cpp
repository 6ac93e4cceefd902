#include "ssh/login_limits.hpp"

#include <doctest/doctest.h>

namespace fastgpu::ssh {
namespace {

Host host_at(const std::string& address) {
  return {.name = {address}, .address = address};
}

/// Begins logins to different sshds until there is no room, but at most 1000. Returns their number.
int begin_all(LoginLimits& limits, bool is_on_this_machine) {
  int begun = 0;
  for (; begun < 1000; ++begun) {
    Host host = host_at("10.0.0." + std::to_string(begun));
    host.is_on_this_machine = is_on_this_machine;
    if (!limits.has_room(first_hop(host), host)) break;
    limits.begin(first_hop(host), host);
  }
  return begun;
}

TEST_SUITE_BEGIN("ssh/login_limits");

TEST_CASE("logins to nodes on this machine are limited by its cores, and others are not") {
  CHECK(logins_on_this_machine(0) == 8);  // The number of cores is unknown.
  CHECK(logins_on_this_machine(1) == 8);
  CHECK(logins_on_this_machine(2) == 8);
  CHECK(logins_on_this_machine(16) == 64);
  LoginLimits limits(12);
  CHECK(begin_all(limits, true) == 12);
  CHECK(begin_all(limits, false) == 1000);
}

TEST_CASE("the end of a login makes room for another one") {
  LoginLimits limits(1);
  Host first = host_at("10.0.0.1");
  Host second = host_at("10.0.0.2");
  first.is_on_this_machine = second.is_on_this_machine = true;
  limits.begin(first_hop(first), first);
  CHECK_FALSE(limits.has_room(first_hop(second), second));
  limits.end(first_hop(first), first);
  CHECK(limits.has_room(first_hop(second), second));
}

TEST_CASE("hosts behind one jump host share the logins that its sshd allows") {
  LoginLimits limits(1000);
  Host inner = host_at("10.0.0.1");
  inner.jumps = {host_at("gate")};
  for (int i = 0; i < kLoginsAtOnce; ++i)
    limits.begin(first_hop(inner), inner);
  Host another = host_at("10.0.0.2");
  another.jumps = inner.jumps;
  CHECK_FALSE(limits.has_room(first_hop(another), another));
  CHECK(limits.has_room(first_hop(host_at("10.0.0.2")), host_at("10.0.0.2")));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::ssh
