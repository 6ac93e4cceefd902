// What every transport promises, for the tests of each.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/kernels/element_type.hpp"
#include "comm/transports/transport.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"
#include "support/transport_reports.hpp"

namespace fastgpu::test {

using LeavingRanks = std::vector<std::optional<comm::Communicator>>;

/// Small whole numbers, whose sums are exact.
inline std::vector<float> numbers(comm::Rank rank, std::size_t length) {
  std::vector<float> made(length);
  for (std::size_t i = 0; i < length; ++i)
    made[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank.value) * 5) % 13);
  return made;
}

inline std::vector<float> sums(int ranks, std::size_t length) {
  std::vector<float> made(length);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto part = numbers({rank}, length);
    for (std::size_t i = 0; i < length; ++i)
      made[i] += part[i];
  }
  return made;
}

/// An all-reduce has the sums of all ranks.
inline void check_sums(std::vector<comm::Communicator>& ranks, std::size_t length) {
  std::vector<std::vector<float>> results(ranks.size());
  run_ranks(ranks, [&](comm::Communicator& comm) {
    auto values = numbers(comm.rank(), length);
    comm.all_reduce(std::span(values), comm::ReduceOp::sum);
    results[static_cast<std::size_t>(comm.rank().value)] = values;
  });
  const int size = static_cast<int>(ranks.size());
  CAPTURE(size);
  CAPTURE(length);
  for (const auto& result : results)
    CHECK(result == sums(size, length));
}

/// A number of elements of a type.
struct TypedElements {
  comm::ElementType type{};
  std::size_t count = 0;
};

/// A message between two new ranks that is not of as many float32 as its receiver expects is an
/// error of both, which names what was sent, and changes no memory.
inline void check_refused_message(std::vector<comm::Communicator> ranks, const TypedElements& sent,
                                  std::size_t expected, bool is_sender_late) {
  using namespace std::chrono_literals;
  const TypedElements wanted{comm::ElementType::float32, expected};
  bool is_changed = false;
  const auto outcomes = outcomes_of_ranks(ranks, [&](comm::Communicator& comm) {
    const bool is_sender = comm.rank() == comm::Rank{0};
    const TypedElements& own = is_sender ? sent : wanted;
    std::vector<std::byte> bytes(own.count * size_of(own.type), std::byte(comm.rank().value));
    if (is_sender == is_sender_late) std::this_thread::sleep_for(2ms);
    if (is_sender) {
      comm.send(bytes, {1}, own.type);
    } else {
      try {
        comm.receive(bytes, {0}, own.type);
      } catch (const Error& e) {
        is_changed = bytes != std::vector(bytes.size(), std::byte{1});
        CHECK(e.kind() == ErrorKind::usage);
        throw;
      }
    }
    comm.barrier();
  });
  const std::string what = std::to_string(sent.count) + " " + std::string(name_of(sent.type));
  const bool has_its_type = sent.type == wanted.type;
  const std::string by_receiver = "rank 0: it sent " + what + " where " + std::to_string(expected) +
                                  (has_its_type ? "" : " float32") + " were expected";
  // A receiver that asks for a long message first is refused by its sender.
  const std::string by_sender =
      "rank 1: it expects " + std::to_string(expected) + " float32 where " + what + " are sent";
  // One that never asks for it waits, as its sender does.
  const std::string by_both = "rank 0 waits in a message of " + what +
                              " for rank 1, rank 1 waits in a message of " +
                              std::to_string(expected) + " float32 for rank 0";
  for (const auto& outcome : outcomes) {
    const Error e = failure_in(outcome);
    const std::string said = e.what();
    CAPTURE(said);
    CHECK((mentions(e, by_receiver) || mentions(e, by_sender) || mentions(e, by_both)));
  }
  CHECK(mentions(failure_in(outcomes[0]), "rank 1"));
  CHECK(!is_changed);
}

/// Messages of other types and numbers of elements are refused, short ones and long ones.
/// `make_ranks` returns two ranks.
template <class MakeRanks>
void check_messages_are_compared(const MakeRanks& make_ranks) {
  using comm::ElementType;
  for (const std::size_t times : {1, 1000, 100'000}) {
    for (const bool is_sender_late : {false, true}) {
      check_refused_message(make_ranks(), {ElementType::int32, 8 * times}, 8 * times,
                            is_sender_late);
      check_refused_message(make_ranks(), {ElementType::float16, 16 * times}, 8 * times,
                            is_sender_late);
      check_refused_message(make_ranks(), {ElementType::float32, 7 * times}, 8 * times,
                            is_sender_late);
    }
  }
  for (const bool is_sender_late : {false, true}) {
    check_refused_message(make_ranks(), {ElementType::float32, 800'000}, 8, is_sender_late);
    check_refused_message(make_ranks(), {ElementType::float32, 8}, 800'000, is_sender_late);
    check_refused_message(make_ranks(), {ElementType::int64, 400'000}, 800, is_sender_late);
  }
}

/// Messages and an all-gather arrive whole, whichever side asks first.
inline void check_copies(std::vector<comm::Communicator>& ranks, std::size_t length) {
  using namespace std::chrono_literals;
  const int size = static_cast<int>(ranks.size());
  std::vector<int> right(ranks.size());
  run_ranks(ranks, [&](comm::Communicator& comm) {
    const comm::Rank next{(comm.rank().value + 1) % size};
    const comm::Rank previous{(comm.rank().value + size - 1) % size};
    const auto mine = numbers(comm.rank(), length);
    std::vector<float> theirs(length);
    comm::Handle sending = comm.start_send(std::as_bytes(std::span(mine)), next);
    if (comm.rank().value % 2 == 0) std::this_thread::sleep_for(5ms);
    comm.receive(std::as_writable_bytes(std::span(theirs)), previous);
    sending.wait();
    std::vector<float> all(length * ranks.size());
    comm.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
    const auto last = std::vector(all.end() - static_cast<std::ptrdiff_t>(length), all.end());
    const bool is_right =
        theirs == numbers(previous, length) && last == numbers({size - 1}, length);
    right[static_cast<std::size_t>(comm.rank().value)] = is_right ? 1 : 0;
  });
  CAPTURE(length);
  CHECK(std::accumulate(right.begin(), right.end(), 0) == size);
}

/// The gradient layer has the sums of all ranks, step after step.
inline void check_gradients(std::vector<comm::Communicator>& ranks) {
  constexpr int kSteps = 5;
  const int size = static_cast<int>(ranks.size());
  std::vector<int> right(ranks.size());
  run_ranks(ranks, [&](comm::Communicator& comm) {
    std::vector<float> large(300'001);
    std::vector<float> small(7);
    comm::GradientExchange exchange(comm);
    exchange.add("large", std::span(large));
    exchange.add("small", std::span(small));
    for (int step = 0; step < kSteps; ++step) {
      std::ranges::copy(numbers(comm.rank(), large.size()), large.begin());
      std::ranges::copy(numbers(comm.rank(), small.size()), small.begin());
      exchange.all_reduce_gradients(comm::ReduceOp::sum);
      if (large == sums(size, large.size()) && small == sums(size, small.size()))
        ++right[static_cast<std::size_t>(comm.rank().value)];
    }
  });
  CHECK(right == std::vector(ranks.size(), kSteps));
}

/// The message of a rank that has left can be received.
inline void check_message_outlives_sender(LeavingRanks own) {
  using namespace std::chrono_literals;
  int number = 0;
  run_ranks(own, [&](std::optional<comm::Communicator>& comm) {
    const int mine = 42;
    if (comm->rank() == comm::Rank{1}) {
      comm->send(std::as_bytes(std::span(&mine, 1)), {0});
      return comm.reset();
    }
    std::this_thread::sleep_for(50ms);
    comm->receive(std::as_writable_bytes(std::span(&number, 1)), {1});
  });
  CHECK(number == 42);
}

/// The other two of three ranks name rank 1, which leaves while they wait for it.
inline void check_leaver_is_named(LeavingRanks own) {
  const auto outcomes = outcomes_of_ranks(own, [](std::optional<comm::Communicator>& comm) {
    std::vector<float> values(100'000);
    comm->all_reduce(std::span(values), comm::ReduceOp::sum);
    if (comm->rank() == comm::Rank{1}) return comm.reset();
    for (;;)
      comm->all_reduce(std::span(values), comm::ReduceOp::sum);
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank 1"));
  CHECK(mentions(failure_in(outcomes[2]), "rank 1"));
}

}  // namespace fastgpu::test
