// All ranks of a job in one process.
#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/communicator.hpp"
#include "comm/transports/socket.hpp"

namespace fastgpu::test {

/// One transport per rank, each connected to every other by a socket pair. Element r is rank r.
inline std::vector<comm::SocketTransport> connect_in_process(int size,
                                                             std::chrono::milliseconds timeout) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<std::vector<UniqueFd>> sockets(n);
  for (auto& row : sockets)
    row.resize(n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      int ends[2];
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
      sockets[a][b] = UniqueFd(ends[0]);
      sockets[b][a] = UniqueFd(ends[1]);
    }
  }
  std::vector<comm::SocketTransport> ranks;
  for (std::size_t r = 0; r < n; ++r)
    ranks.emplace_back(comm::Rank{static_cast<int>(r)}, std::move(sockets[r]), timeout);
  return ranks;
}

/// The same, each with a communicator on top.
inline std::vector<comm::Communicator> communicators_in_process(int size,
                                                                std::chrono::milliseconds timeout) {
  std::vector<comm::Communicator> ranks;
  for (auto& transport : connect_in_process(size, timeout))
    ranks.emplace_back(std::make_unique<comm::SocketTransport>(std::move(transport)));
  return ranks;
}

}  // namespace fastgpu::test
