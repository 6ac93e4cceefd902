#include "ssh/tcp_stream.hpp"

#include <doctest/doctest.h>

namespace fastgpu::ssh {
namespace {

TEST_CASE("a name that is found between connect and wanted is still waited for") {
  TcpStream stream("localhost", 1, {});
  pollfd wanted = stream.wanted();
  REQUIRE(::poll(&wanted, 1, 10'000) == 1);  // The answer is there, and connect() has not seen it.
  wanted = stream.wanted();
  CHECK(wanted.fd >= 0);
  CHECK(::poll(&wanted, 1, 0) == 1);
}

}  // namespace
}  // namespace fastgpu::ssh
