#include "comm/rendezvous/farewells.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <span>

#include "comm/common/interrupt.hpp"
#include "comm/rendezvous/introduction.hpp"
#include "comm/rendezvous/stream.hpp"

namespace fastgpu::comm {
namespace {

/// The time for the reason of a rank that has gone to arrive, which rank 0 passes on.
constexpr std::chrono::milliseconds kReasonTimeout{1000};
/// The time for the others to read a farewell: what a closed socket has not been asked for is lost.
constexpr std::chrono::milliseconds kLeaveTimeout{2000};

/// Throws the reason in the messages of a rank, of which none is taken. Few bytes of others are
/// before it: no rank is a round ahead of those that it awaits.
void look_at(int socket, Rank rank) {
  std::array<std::byte, 4 * kIntroductionBytes> bytes;
  const ssize_t there = ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (there > 0) find_farewell(std::span(bytes).first(static_cast<std::size_t>(there)), rank);
}

/// Reads until the other side has closed its end.
void drain(int socket, Deadline deadline) {
  std::array<std::byte, kIntroductionBytes> rest;
  while (!deadline.passed() && is_readable(socket, deadline))
    if (::recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) <= 0) return;
}

}  // namespace

void Farewells::check() const {
  for (std::size_t r = 0; r < sockets_.size(); ++r)
    check({static_cast<int>(r)});
}

void Farewells::check(Rank rank) const {
  const auto& sockets = sockets_[static_cast<std::size_t>(rank.value)];
  if (!sockets.empty()) look_at(sockets.front().get(), rank);
}

void Farewells::await_reason() const try {
  const Deadline deadline(kReasonTimeout);
  do {
    check();
    poll_until({}, within(deadline, kBetweenFarewellChecks));
  } while (!deadline.passed());
} catch (const FarewellError& e) {
  pass_on(e);
  throw;
}

void Farewells::pass_on(const FarewellError& error) const noexcept {
  if (self_ == Rank{0}) say(error, error.rank());
}

void Farewells::say(const Error& reason, Rank rank) const noexcept {
  const Introduction farewell = farewell_of(reason, rank);
  const Deadline deadline(kLeaveTimeout);
  const auto for_all = [&](auto action) {
    for (const auto& sockets : sockets_)
      try {
        if (!sockets.empty()) action(sockets.front().get());
      } catch (const std::exception&) {  // It may have gone as well.
      }
  };
  for_all([&](int socket) {
    send_all(socket, farewell, deadline);
    ::shutdown(socket, SHUT_WR);
  });
  for_all([&](int socket) { drain(socket, deadline); });
}

}  // namespace fastgpu::comm
