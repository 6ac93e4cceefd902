#include "launcher/beats.hpp"

#include <doctest/doctest.h>

namespace fastgpu::launcher {
namespace {

TEST_SUITE_BEGIN("launcher/beats");

TEST_CASE("a host is behind another one by a jump host or a proxy") {
  ssh::Host host{.name = {"n-0"}, .address = "10.0.0.1"};
  CHECK_FALSE(is_behind_another(host));
  host.openssh = ssh::OpenSsh{};
  CHECK_FALSE(is_behind_another(host));
  host.openssh->proxy = "ProxyCommand nc %h %p";
  CHECK(is_behind_another(host));
  host.openssh.reset();
  host.jumps = {{.name = {"gate"}, .address = "10.0.0.2"}};
  CHECK(is_behind_another(host));
}

TEST_CASE("there is no beat before its time, and each has a descriptor to wait for") {
  Beats beats(-1);
  CHECK(beats.wake() >= 0);
  CHECK(beats.take().empty());
  const Beats shared(beats.wake());
  CHECK(shared.wake() == beats.wake());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
