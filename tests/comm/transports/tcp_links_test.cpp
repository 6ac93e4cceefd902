// The counters of the networks that TCP connections go by, and the warnings of those that fail.
#include "comm/transports/tcp_links.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::comm {
namespace {

/// Returns a socket that has this address of the host.
UniqueFd socket_at(in_addr_t address) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(address);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&place), sizeof(place)) == 0);
  return socket;
}

TEST_SUITE_BEGIN("comm/transports/tcp_links");

TEST_CASE("connections from one address of this host share their counters") {
  test::TransportReports events;
  TcpLinks links(events);
  const UniqueFd one = socket_at(INADDR_LOOPBACK);
  const UniqueFd two = socket_at(INADDR_LOOPBACK);
  const UniqueFd other = socket_at(INADDR_LOOPBACK + 1);
  LinkCounters& shared = links.of(one.get());
  CHECK(shared.name == "tcp 127.0.0.1");
  CHECK(&links.of(other.get()) != &shared);
  CHECK(&links.of(two.get()) == &shared);
  CHECK(links.all().size() == 2);
}

TEST_CASE("a network that fails is warned of once until it is used again") {
  test::TransportReports events;
  TcpLinks links(events);
  const UniqueFd socket = socket_at(INADDR_LOOPBACK);
  LinkCounters& link = links.of(socket.get());
  links.warn_of_failure({1}, link, "silent for 1 s");
  links.warn_of_failure({2}, link, "silent for 1 s");
  links.made_anew({3}, link);
  links.made_anew({4}, link);
  links.warn_of_failure({5}, link, "silent for 1 s");
  CHECK(link.reconnects == 2);
  CHECK(events.warnings ==
        std::vector<std::string>{
            "the network of 127.0.0.1 has failed on the way to rank 1 (silent for 1 s): the others "
            "carry its share",
            "the network of 127.0.0.1 is used again on the way to rank 3",
            "the network of 127.0.0.1 has failed on the way to rank 5 (silent for 1 s): the others "
            "carry its share"});
}

TEST_CASE("a connection whose successor comes early is a failure, once") {
  test::TransportReports events;
  TcpLinks links(events);
  LinkCounters& link = links.named("fabric wire");
  links.given_up({1}, link, "Connection reset by peer");
  links.made_anew({1}, link);
  CHECK(link.failures == 1);
  CHECK(link.reconnects == 1);
  CHECK(
      events.warnings ==
      std::vector<std::string>{
          "the fabric wire has failed on the way to rank 1 (Connection reset by peer): the others "
          "carry its share",
          "the fabric wire is used again on the way to rank 1"});
  links.given_up({2}, link, "Connection reset by peer");
  links.made_anew({3}, link);
  CHECK(link.failures == 1);
}

TEST_CASE("a connection that ends is no failure at once, and none if its peer leaves") {
  test::TransportReports events;
  TcpLinks links(events);
  const UniqueFd socket = socket_at(INADDR_LOOPBACK);
  LinkCounters& link = links.of(socket.get());
  links.given_up({1}, link, "Connection reset by peer");
  CHECK(links.take_failures([](Rank) { return true; }).empty());
  int asked = 0;
  const auto has_left = [&](Rank) { return ++asked < 0; };
  CHECK(links.take_failures(has_left).empty());
  CHECK(links.take_failures(has_left).empty());
  CHECK(asked == 1);
  CHECK(link.failures == 0);
  CHECK(events.warnings.empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
