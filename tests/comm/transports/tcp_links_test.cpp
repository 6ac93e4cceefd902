// The counters of the networks that TCP connections go by, and the warnings of those that fail.
#include "comm/transports/tcp_links.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/transports/tcp_flow.hpp"
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

/// Returns another network than those of the tests.
std::vector<const LinkCounters*> other_network(Rank /*peer*/) {
  static const LinkCounters other{.name = "tcp 127.9.9.9"};
  return {&other};
}

TEST_SUITE_BEGIN("comm/transports/tcp_links");

TEST_CASE("connections from one address of this host share their counters") {
  test::TransportReports events;
  TcpLinks links(events, other_network);
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
  TcpLinks links(events, other_network);
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

TEST_CASE("the last network that fails is reported as that") {
  for (const bool has_connection : {true, false}) {
    test::TransportReports events;
    std::vector<const LinkCounters*> open;
    TcpLinks links(events, [&](Rank) { return open; });
    const UniqueFd one = socket_at(INADDR_LOOPBACK);
    const UniqueFd two = socket_at(INADDR_LOOPBACK + 1);
    LinkCounters& first = links.of(one.get());
    LinkCounters& last = links.of(two.get());
    open = {&first, &last, &last};
    links.warn_of_failure({1}, first, "silent for 0.25 s");
    open = {&first};  // A connection whose silence is not known yet.
    if (has_connection) open.push_back(&last);
    links.warn_of_failure({1}, last, "silent for 0.25 s");
    const std::string rest =
        has_connection ? ": its other connections carry the messages, and no other network is left"
                       : ", and no other is left";
    CHECK(
        events.warnings ==
        std::vector<std::string>{
            "the network of 127.0.0.1 has failed on the way to rank 1 (silent for 0.25 s): the "
            "others carry its share",
            "the network of 127.0.0.2 has failed on the way to rank 1 (silent for 0.25 s)" + rest});
  }
}

TEST_CASE("a network that fails on the way to one rank may be left to another") {
  test::TransportReports events;
  std::vector<const LinkCounters*> open;
  TcpLinks links(events, [&](Rank) { return open; });
  const UniqueFd one = socket_at(INADDR_LOOPBACK);
  const UniqueFd two = socket_at(INADDR_LOOPBACK + 1);
  open = {&links.of(one.get())};
  links.warn_of_failure({1}, links.of(one.get()), "silent for 0.25 s");
  links.warn_of_failure({2}, links.of(two.get()), "silent for 0.25 s");
  CHECK(events.warnings.back().ends_with(": the others carry its share"));
}

TEST_CASE("the networks of a peer are those of its flows that are open") {
  test::TransportReports events;
  TcpLinks links(events, other_network);
  std::vector<std::unique_ptr<Flow>> flows;
  for (const in_addr_t address : {INADDR_LOOPBACK, INADDR_LOOPBACK + 1}) {
    UniqueFd socket = socket_at(address);
    LinkCounters& link = links.of(socket.get());
    flows.push_back(std::make_unique<TcpFlow>(std::move(socket), link));
  }
  flows[0]->give_up();
  CHECK(open_links(flows) == std::vector<const LinkCounters*>{&flows[1]->link()});
}

TEST_CASE("a connection whose successor comes early is a failure, once") {
  test::TransportReports events;
  TcpLinks links(events, other_network);
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
  TcpLinks links(events, other_network);
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
