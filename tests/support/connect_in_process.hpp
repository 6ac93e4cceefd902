// Creates all ranks of a job in one process.
#pragma once

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::test {

/// Returns both ends of a connection.
inline std::pair<UniqueFd, UniqueFd> socket_pair() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Returns both ends of a connection by TCP, within this host.
inline std::pair<UniqueFd, UniqueFd> tcp_pair() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener.get(), generic, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), generic, &size) == 0);
  UniqueFd near(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(near.get(), generic, size) == 0);
  UniqueFd far(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(far);
  return {std::move(near), std::move(far)};
}

/// Returns the connections of each rank r as element r, before the ranks have introduced
/// themselves.
inline std::vector<comm::Connections> sockets_in_process(int size,
                                                         std::chrono::milliseconds timeout,
                                                         int flows = 1) {
  std::vector<comm::Connections> ranks;
  for (int r = 0; r < size; ++r) {
    ranks.push_back({.rank = {r}, .size = size, .timeout = timeout});
    ranks.back().sockets.resize(static_cast<std::size_t>(size));
  }
  for (std::size_t a = 0; a < ranks.size(); ++a) {
    for (std::size_t b = a + 1; b < ranks.size(); ++b) {
      for (int flow = 0; flow < flows; ++flow) {
        auto [end_of_a, end_of_b] = socket_pair();
        ranks[a].sockets[b].push_back(std::move(end_of_a));
        ranks[b].sockets[a].push_back(std::move(end_of_b));
      }
    }
  }
  return ranks;
}

/// Returns what a rank wishes for. FASTGPU_TEST_FABRIC names a provider of libfabric, and perhaps
/// the way of putting ("net", "net a"): it then carries the messages of ranks that share no memory.
inline comm::Wishes wishes(comm::SharedMemory shared_memory, int flows = 1) {
  comm::Wishes wished{.shared_memory = shared_memory, .flows = flows};
  const char* const given = std::getenv("FASTGPU_TEST_FABRIC");
  const char* const plugin = std::getenv("FASTGPU_TEST_FABRIC_PLUGIN");
  const bool is_shared = shared_memory == comm::SharedMemory::on;
  if (is_shared || given == nullptr || plugin == nullptr) return wished;
  const std::string_view text = given;
  const std::size_t gap = text.find(' ');
  wished.transport = comm::NetworkTransport::fabric;
  wished.fabric = {.need = comm::fabric::FabricNeed::must,
                   .provider = std::string(text.substr(0, gap)),
                   .plugin = plugin};
  if (gap != std::string_view::npos)
    wished.fabric.put = comm::fabric::put_named(text.substr(gap + 1));
  wished.near = "127.0.0.1";
  return wished;
}

/// Returns a communicator for each rank. With `ranks_per_node`, the ranks act as if they were on
/// several nodes.
inline std::vector<comm::Communicator> communicators_in_process(
    int size, std::chrono::milliseconds timeout,
    comm::SharedMemory shared_memory = comm::SharedMemory::on, int flows = 1,
    std::optional<int> ranks_per_node = {}) {
  auto connections = sockets_in_process(size, timeout, flows);
  run_ranks(connections, [&](comm::Connections& rank) {
    const comm::Deadline deadline(std::chrono::seconds(20));
    comm::introduce(rank, wishes(shared_memory, flows), deadline);
    if (ranks_per_node) rank.topology = comm::filled_nodes(size, *ranks_per_node);
  });
  std::vector<comm::Communicator> ranks;
  for (auto& rank : connections)
    ranks.emplace_back(std::move(rank));
  return ranks;
}

/// Returns the ranks as optionals, so that some can leave by reset() while others stay.
inline std::vector<std::optional<comm::Communicator>> able_to_leave(
    std::vector<comm::Communicator> ranks) {
  std::vector<std::optional<comm::Communicator>> own;
  for (comm::Communicator& comm : ranks)
    own.emplace_back(std::move(comm));
  return own;
}

}  // namespace fastgpu::test
