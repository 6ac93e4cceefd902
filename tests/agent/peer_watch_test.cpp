#include "agent/jobs/peer_watch.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::agent {
namespace {

/// Tables as a little-endian kernel writes them.
constexpr const char* kTable =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
    "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 0 1\n"
    "   1: 0101A8C0:0016 0201A8C0:D431 01 00000024:00000000 01:00000A2C 00000007     0 0 2\n"
    "   2: 0101A8C0:0016 0201A8C0:D432 01 00000000:00000000 02:000AB123 00000000     0 0 3\n"
    "   3: 0101A8C0:0016 0201A8C0:D433 01 00000300:00000000 04:00000084 00000000     0 5 4\n";

TEST_SUITE_BEGIN("agent/peer_watch");

TEST_CASE("a connection of sshd is found in the kernel's table, with what has no answer") {
  const auto ends = peer_ends("192.168.1.2 54321 192.168.1.1 22");
  REQUIRE(ends.size() == 2);
  CHECK(ends[0].ours == "0101A8C0:0016");
  CHECK(ends[0].theirs == "0201A8C0:D431");
  CHECK(ends[1].theirs == "0000000000000000FFFF00000201A8C0:D431");
  CHECK(unanswered_in(kTable, ends[0]) == 7);
  CHECK_FALSE(unanswered_in(kTable, ends[1]));
  CHECK(unanswered_in(kTable, peer_ends("192.168.1.2 54322 192.168.1.1 22")[0]) == 0);
  CHECK(unanswered_in(kTable, peer_ends("192.168.1.2 54323 192.168.1.1 22")[0]) == 5);
  CHECK_FALSE(unanswered_in("", ends[0]));
  CHECK_FALSE(unanswered_in("0101A8C0:0016 0201A8C0:D431", ends[0]));
  const auto v6 = peer_ends("fd00::2 54321 fd00::1 22");
  REQUIRE(v6.size() == 1);
  CHECK(v6[0].ours == "000000FD000000000000000001000000:0016");
}

TEST_CASE("what is no connection has no ends") {
  for (const char* text : {"", "192.168.1.2", "a 1 b 2", "192.168.1.2 1 fd00::1 2",
                           "192.168.1.2 99999 192.168.1.1 22"})
    CHECK(peer_ends(text).empty());
}

TEST_CASE("a connection of this process is found in the kernel's own table") {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener.get(), generic, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  ::getsockname(listener.get(), generic, &size);
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(client.get(), generic, size) == 0);
  const std::string server_port = std::to_string(ntohs(address.sin_port));
  ::getsockname(client.get(), generic, &size);
  const auto ends = peer_ends("127.0.0.1 " + std::to_string(ntohs(address.sin_port)) +
                              " 127.0.0.1 " + server_port);
  std::ifstream in("/proc/net/tcp");
  const std::string table{std::istreambuf_iterator<char>(in), {}};
  CHECK(unanswered_in(table, ends.at(0)) == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::agent
