// The places of ranks that meet on this host.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator/join.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "support/failure.hpp"
#include "support/free_port.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::test {

constexpr std::chrono::seconds kLong{20};
constexpr std::chrono::seconds kShort{1};

/// A job on the loopback interface, at a port of its own.
struct JoinMeeting {
  int size = 2;
  std::string secret = "a shared secret";
  std::chrono::milliseconds timeout = kLong;
  std::uint16_t port = free_port();

  comm::JobPlace place(int rank) const {
    return {.rank = {rank},
            .size = size,
            .master_host = "127.0.0.1",
            .master_port = port,
            .secret = Secret(secret),
            .timeout = timeout};
  }

  std::vector<comm::JobPlace> places() const {
    std::vector<comm::JobPlace> all;
    all.reserve(static_cast<std::size_t>(size));
    for (int rank = 0; rank < size; ++rank)
      all.push_back(place(rank));
    return all;
  }
};

inline comm::Endpoint loopback(std::uint16_t port) {
  comm::Endpoint endpoint{.port = port};
  endpoint.address[0] = std::byte{127};
  endpoint.address[3] = std::byte{1};
  return endpoint;
}

/// Returns the error that each place's rank fails with as all of them join.
inline std::vector<Error> failures_of(const std::vector<comm::JobPlace>& places) {
  std::vector<Error> failures;
  for (const auto& outcome :
       outcomes_of_ranks(places, [](const comm::JobPlace& place) { comm::join(place); }))
    failures.push_back(failure_in(outcome));
  return failures;
}

}  // namespace fastgpu::test
