#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/common/float16.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/communicator/mpi_collectives.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/reference_reduce.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::run_ranks;

constexpr int kMostTestedRanks = 9;
const std::vector<std::size_t> kLengths{0, 1, 9, 511, 513, 8191, 8193, 70'001};

std::size_t index(Rank rank) {
  return static_cast<std::size_t>(rank.value);
}

/// One vector per rank, the same in every run.
template <class T>
std::vector<std::vector<T>> contributions(int ranks, std::size_t length) {
  std::mt19937 random(static_cast<std::uint32_t>(ranks) * 7919 +
                      static_cast<std::uint32_t>(length));
  std::uniform_int_distribution<int> number(-1'000'000, 1'000'000);
  std::vector<std::vector<T>> all(static_cast<std::size_t>(ranks), std::vector<T>(length));
  for (auto& one : all)
    for (T& value : one)
      value = static_cast<T>(std::is_integral_v<T> ? number(random) : number(random) / 1024.0);
  return all;
}

/// Rounding of n additions, relative to the largest magnitudes that the inputs have.
template <class T>
double tolerance(int ranks) {
  if (std::is_integral_v<T>) return 0;
  return 1000.0 * ranks * ranks * static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// Elements of `result` further from the reference than rounding explains.
template <class T>
std::size_t wrong_elements(const std::vector<std::vector<T>>& inputs, const std::vector<T>& result,
                           ReduceOp op) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::vector<double> column;
    for (const auto& input : inputs)
      column.push_back(static_cast<double>(input[i]));
    const double expected = test::reference_reduce(column, op, std::is_integral_v<T>);
    const double error = std::abs(static_cast<double>(result[i]) - expected);
    if (!(error <= tolerance<T>(static_cast<int>(inputs.size())))) ++wrong;
  }
  return wrong;
}

template <class T>
bool bit_equal(const std::vector<T>& a, const std::vector<T>& b) {
  const auto bytes_a = std::as_bytes(std::span(a));
  const auto bytes_b = std::as_bytes(std::span(b));
  return std::ranges::equal(bytes_a, bytes_b);
}

template <class T>
std::vector<std::vector<T>> all_reduced(std::vector<std::vector<T>> values, ReduceOp op,
                                        SharedMemory shared_memory = SharedMemory::on,
                                        int flows = 1) {
  auto ranks = communicators_in_process(static_cast<int>(values.size()), 20s, shared_memory, flows);
  run_ranks(ranks, [&](Communicator& comm) {
    comm.all_reduce(std::span(values[index(comm.rank())]), op);
  });
  return values;
}

constexpr SharedMemory kBoth[] = {SharedMemory::on, SharedMemory::off};

TEST_SUITE_BEGIN("comm/collectives");

TEST_CASE("an all-reduce by the algorithm of its length agrees with a sum in float64") {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    auto ranks = communicators_in_process(size, 20s, kBoth[size % 2]);
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average}) {
      std::vector<std::vector<std::vector<float>>> inputs;
      for (const std::size_t length : kLengths)
        inputs.push_back(contributions<float>(size, length));
      auto results = inputs;

      run_ranks(ranks, [&](Communicator& comm) {
        for (auto& values : results)
          comm.all_reduce(std::span(values[index(comm.rank())]), op);
      });

      for (std::size_t i = 0; i < kLengths.size(); ++i) {
        CAPTURE(size);
        CAPTURE(kLengths[i]);
        CAPTURE(name_of(op));
        CHECK(wrong_elements(inputs[i], results[i][0], op) == 0);
        for (const auto& result : results[i])
          CHECK(bit_equal(result, results[i][0]));
      }
    }
  }
}

TEST_CASE("calls of few bytes are right wherever in their steps a rank comes late") {
  for (int size = 2; size <= 6; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    const auto n = static_cast<std::size_t>(size);
    for (const std::size_t length : {std::size_t{1}, std::size_t{60}, 20 * n}) {
      const auto inputs = contributions<std::int64_t>(size, length);
      std::vector<std::int64_t> sums(length);
      for (const auto& input : inputs)
        std::ranges::transform(input, sums, sums.begin(), std::plus());
      auto results = inputs;
      std::vector<std::vector<std::int64_t>> gathered(n, std::vector<std::int64_t>(n * length));
      std::atomic<int> wrong = 0;

      run_ranks(ranks, [&](Communicator& comm) {
        const std::size_t r = index(comm.rank());
        for (std::size_t late = 0; late < 3 * n; ++late) {
          results[r] = inputs[r];
          // Longer than ranks wait before the call becomes an operation.
          if (late % n == r) std::this_thread::sleep_for(3ms);
          comm.all_reduce(std::span(results[r]), ReduceOp::sum);
          if (results[r] != sums) ++wrong;
          if ((late + 1) % n == r) std::this_thread::sleep_for(3ms);
          comm.all_gather(std::as_bytes(std::span(inputs[r])),
                          std::as_writable_bytes(std::span(gathered[r])));
        }
      });

      CAPTURE(size);
      CAPTURE(length);
      CHECK(wrong == 0);
      for (const auto& all : gathered)
        for (std::size_t r = 0; r < n; ++r)
          CHECK(std::ranges::equal(std::span(all).subspan(r * length, length), inputs[r]));
    }
  }
}

TEST_CASE("calls of few bytes that differ are named on the rank that comes last, too") {
  for (int late = 0; late < 2; ++late) {
    auto ranks = communicators_in_process(2, 20s);
    const auto outcomes = test::outcomes_of_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(2);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      if (comm.rank().value == late) std::this_thread::sleep_for(20ms);
      comm.all_reduce(std::span(values), comm.rank().value == 0 ? ReduceOp::sum : ReduceOp::max);
    });
    for (const auto& outcome : outcomes) {
      const Error e = test::failure_in(outcome);
      CHECK(e.kind() == ErrorKind::usage);
      CHECK(test::mentions(e, "every rank must make the same calls"));
    }
  }
}

TEST_CASE("repeating an all-reduce gives the same bits") {
  const auto inputs = contributions<float>(4, 100'007);
  for (const SharedMemory shared_memory : kBoth)
    CHECK(all_reduced(inputs, ReduceOp::average, shared_memory) ==
          all_reduced(inputs, ReduceOp::average, shared_memory));
}

TEST_CASE("an all-reduce larger than any buffer on the way ends") {
  const auto inputs = contributions<double>(3, (1 << 20) + 1);
  for (const SharedMemory shared_memory : kBoth) {
    for (const int flows : {1, 4}) {
      const auto results = all_reduced(inputs, ReduceOp::sum, shared_memory, flows);
      CHECK(wrong_elements(inputs, results[0], ReduceOp::sum) == 0);
      CHECK(bit_equal(results[0], results[1]));
      CHECK(bit_equal(results[0], results[2]));
    }
  }
}

TEST_CASE("what lies in shared memory is reduced as what does not") {
  const auto inputs = contributions<float>(3, 1'000'003);
  auto results = inputs;
  auto ranks = communicators_in_process(3, 20s);
  run_ranks(ranks, [&](Communicator& comm) {
    auto& values = results[index(comm.rank())];
    const auto shared = comm.allocate(4 * values.size());
    std::ranges::copy(std::as_bytes(std::span(values)), shared.begin());
    for (int i = 0; i < 3; ++i) {
      if (i > 0) std::ranges::copy(std::as_bytes(std::span(values)), shared.begin());
      comm.all_reduce(shared, {ElementType::float32, ReduceOp::sum});
    }
    std::ranges::copy(shared, std::as_writable_bytes(std::span(values)).begin());
    comm.free(shared);
  });
  CHECK(results == all_reduced(inputs, ReduceOp::sum));
}

TEST_CASE("a NaN of any rank reaches every rank through min and max") {
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    auto inputs = contributions<float>(3, 5);
    inputs[1][2] = std::numeric_limits<float>::quiet_NaN();
    for (const auto& result : all_reduced(inputs, op)) {
      CHECK(std::isnan(result[2]));
      CHECK_FALSE(std::isnan(result[1]));
    }
  }
}

TEST_CASE("averages of 16-bit numbers do not overflow on the way") {
  for (const SharedMemory shared_memory : kBoth) {
    for (const std::size_t length : {3, 100'001}) {
      for (const int size : {2, 3}) {
        auto ranks = communicators_in_process(size, 20s, shared_memory);
        run_ranks(ranks, [&](Communicator& comm) {
          std::vector<Float16> values(length, to_float16(60000));
          comm.all_reduce(std::span(values), ReduceOp::average);
          CHECK(std::ranges::all_of(
              values, [](Float16 value) { return std::abs(to_float(value) - 60000) <= 64; }));
          const std::vector<Float16> all(length * static_cast<std::size_t>(size),
                                         to_float16(-60000));
          comm.reduce_scatter(std::as_bytes(std::span(all)),
                              std::as_writable_bytes(std::span(values)),
                              {ElementType::float16, ReduceOp::average});
          CHECK(std::ranges::all_of(
              values, [](Float16 value) { return std::abs(to_float(value) + 60000) <= 64; }));
        });
      }
    }
  }
}

TEST_CASE("MPI is not given sums of int8, which it may saturate") {
  Call call{.kind = CallKind::all_reduce, .bytes = 100, .reduction = {ElementType::int8}};
  CHECK_FALSE(mpi::has(call, 2));
  call.reduction.type = ElementType::int32;
  CHECK(mpi::has(call, 2));
  call.kind = CallKind::broadcast;
  call.reduction.type = ElementType::int8;
  CHECK(mpi::has(call, 2));
}

TEST_CASE("integer sums wrap around") {
  const std::vector<std::vector<std::int32_t>> inputs{{std::numeric_limits<std::int32_t>::max()},
                                                      {1}};
  CHECK(all_reduced(inputs, ReduceOp::sum)[0][0] == std::numeric_limits<std::int32_t>::min());
}

TEST_CASE("a broadcast copies the root's bytes to every rank") {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    for (int root = 0; root < size; ++root) {
      for (const std::size_t length : {0, 1, 1021, 66'000}) {
        auto values = contributions<std::int32_t>(size, length);
        const auto expected = values[static_cast<std::size_t>(root)];

        run_ranks(ranks, [&](Communicator& comm) {
          comm.broadcast(std::as_writable_bytes(std::span(values[index(comm.rank())])), {root});
        });

        CAPTURE(size);
        CAPTURE(root);
        CHECK(std::ranges::all_of(values, [&](const auto& value) { return value == expected; }));
      }
    }
  }
}

TEST_CASE("an all-gather orders the contributions by rank") {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    for (const std::size_t length : {0, 1, 97}) {
      const auto inputs = contributions<std::int64_t>(size, length);
      std::vector<std::int64_t> expected;
      for (const auto& input : inputs)
        expected.insert(expected.end(), input.begin(), input.end());
      std::vector<std::vector<std::int64_t>> results(ranks.size(), expected);
      for (auto& result : results)
        std::ranges::fill(result, 0);

      run_ranks(ranks, [&](Communicator& comm) {
        comm.all_gather(std::as_bytes(std::span(inputs[index(comm.rank())])),
                        std::as_writable_bytes(std::span(results[index(comm.rank())])));
      });

      CAPTURE(size);
      for (const auto& result : results)
        CHECK(result == expected);
    }
  }
}

TEST_CASE("no rank leaves a barrier before the last one has come") {
  for (int size = 1; size <= kMostTestedRanks; ++size) {
    auto ranks = communicators_in_process(size, 20s);
    std::atomic<int> arrived = 0;
    std::vector<int> seen(ranks.size());

    run_ranks(ranks, [&](Communicator& comm) {
      ++arrived;
      comm.barrier();
      seen[index(comm.rank())] = arrived;
    });

    CAPTURE(size);
    CHECK(seen == std::vector<int>(ranks.size(), size));
  }
}

TEST_CASE("a reduce-scatter leaves each rank its block of the reduction") {
  for (const SharedMemory shared_memory : kBoth) {
    for (int size = 1; size <= kMostTestedRanks; ++size) {
      auto ranks = communicators_in_process(size, 20s, shared_memory);
      for (const std::size_t block : {0, 1, 97, 20'011}) {
        const auto n = static_cast<std::size_t>(size);
        const auto inputs = contributions<std::int32_t>(size, block * n);
        std::vector<std::vector<std::int32_t>> results(n, std::vector<std::int32_t>(block));
        std::vector<std::int32_t> together(block * n);

        run_ranks(ranks, [&](Communicator& comm) {
          const std::size_t r = index(comm.rank());
          comm.reduce_scatter(std::as_bytes(std::span(inputs[r])),
                              std::as_writable_bytes(std::span(results[r])),
                              {ElementType::int32, ReduceOp::average});
        });

        for (std::size_t r = 0; r < n; ++r)
          std::ranges::copy(results[r], together.begin() + static_cast<std::ptrdiff_t>(r * block));
        CAPTURE(size);
        CAPTURE(block);
        CHECK(wrong_elements(inputs, together, ReduceOp::average) == 0);
      }
    }
  }
}

/// Returns the result of an all-to-all on each rank.
template <class T>
std::vector<std::vector<T>> all_to_all_of(auto& ranks, const std::vector<std::vector<T>>& inputs) {
  std::vector<std::vector<T>> results(inputs.size(), std::vector<T>(inputs[0].size()));
  run_ranks(ranks, [&](Communicator& comm) {
    const std::size_t r = index(comm.rank());
    comm.all_to_all(std::as_bytes(std::span(inputs[r])),
                    std::as_writable_bytes(std::span(results[r])));
  });
  return results;
}

TEST_CASE("blocks that are too long for the caches arrive whole, the own one, too") {
  constexpr std::size_t kBlock = (std::size_t{2} << 20) + 3;
  constexpr std::size_t kSize = 3;
  for (const SharedMemory shared_memory : kBoth) {
    auto ranks = communicators_in_process(kSize, 20s, shared_memory);
    const auto inputs = contributions<std::int8_t>(kSize, kBlock * kSize);
    const auto results = all_to_all_of(ranks, inputs);
    for (std::size_t to = 0; to < kSize; ++to)
      for (std::size_t from = 0; from < kSize; ++from)
        CHECK(std::ranges::equal(std::span(results[to]).subspan(from * kBlock, kBlock),
                                 std::span(inputs[from]).subspan(to * kBlock, kBlock)));
  }
}

TEST_CASE("in an all-to-all every rank gets its block of every other") {
  for (const SharedMemory shared_memory : kBoth) {
    for (int size = 1; size <= kMostTestedRanks; ++size) {
      auto ranks = communicators_in_process(size, 20s, shared_memory);
      for (const std::size_t block : {0, 1, 97, 20'011}) {
        const auto n = static_cast<std::size_t>(size);
        const auto inputs = contributions<std::int64_t>(size, block * n);
        const auto results = all_to_all_of(ranks, inputs);
        std::size_t wrong = 0;
        for (std::size_t to = 0; to < n; ++to)
          for (std::size_t from = 0; from < n; ++from)
            for (std::size_t i = 0; i < block; ++i)
              wrong += results[to][from * block + i] == inputs[from][to * block + i] ? 0U : 1U;
        CAPTURE(size);
        CAPTURE(block);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("messages between two ranks keep their order, whatever their length") {
  const std::vector<std::size_t> lengths{1,  100'000, 0,      5000, 3'000'000,
                                         48, 49,      70'000, 8192, 8193};
  for (const SharedMemory shared_memory : kBoth) {
    auto ranks = communicators_in_process(2, 20s, shared_memory, 3);
    std::vector<std::vector<std::int32_t>> received;
    for (const std::size_t length : lengths)
      received.emplace_back(length);

    run_ranks(ranks, [&](Communicator& comm) {
      std::vector<Handle> handles;
      std::vector<std::vector<std::int32_t>> sent;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        sent.emplace_back(lengths[i], static_cast<std::int32_t>(i));
        handles.push_back(
            comm.rank() == Rank{0}
                ? comm.start_send(std::as_bytes(std::span(sent.back())), {1})
                : comm.start_receive(std::as_writable_bytes(std::span(received[i])), {0}));
      }
      for (Handle& handle : handles)
        handle.wait();
    });

    for (std::size_t i = 0; i < lengths.size(); ++i)
      CHECK(received[i] == std::vector<std::int32_t>(lengths[i], static_cast<std::int32_t>(i)));
  }
}

TEST_CASE("many collectives under way at once end in any order of waiting") {
  for (const SharedMemory shared_memory : kBoth) {
    auto ranks = communicators_in_process(4, 20s, shared_memory, 2);
    std::vector<std::size_t> wrong(ranks.size());

    run_ranks(ranks, [&](Communicator& comm) {
      std::mt19937 random(static_cast<std::uint32_t>(comm.rank().value));
      std::vector<std::vector<float>> values;
      std::vector<Handle> handles;
      for (std::size_t i = 0; i < 60; ++i)
        values.emplace_back(i * i * 13 % 50'000, static_cast<float>(comm.rank().value + 1));
      for (auto& one : values) {
        handles.push_back(comm.start_all_reduce(std::as_writable_bytes(std::span(one)),
                                                {ElementType::float32, ReduceOp::sum}));
        if (random() % 8 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      }
      std::ranges::shuffle(handles, random);
      for (Handle& handle : handles)
        handle.wait();
      for (const auto& one : values)
        wrong[index(comm.rank())] +=
            static_cast<std::size_t>(std::ranges::count_if(one, [](float v) { return v != 10; }));
    });

    CHECK(wrong == std::vector<std::size_t>(ranks.size()));
  }
}

TEST_CASE("what was started ends without anybody waiting") {
  auto ranks = communicators_in_process(2, 20s);
  std::vector<float> values[2] = {std::vector<float>(300'000, 1), std::vector<float>(300'000, 2)};
  run_ranks(ranks, [&](Communicator& comm) {
    Handle handle =
        comm.start_all_reduce(std::as_writable_bytes(std::span(values[index(comm.rank())])),
                              {ElementType::float32, ReduceOp::sum});
    while (!handle.test())
      std::this_thread::yield();
  });
  CHECK(values[0] == std::vector<float>(300'000, 3));
  CHECK(values[1] == values[0]);
}

TEST_CASE("a call whose input overlaps its output has not begun: the next one is right") {
  auto ranks = communicators_in_process(3, 20s);
  std::vector<int> refused(ranks.size());
  std::vector<std::int32_t> sums(ranks.size(), 1);
  run_ranks(ranks, [&](Communicator& comm) {
    const std::size_t r = index(comm.rank());
    std::array<std::int32_t, 6> values{};
    const auto all = std::as_writable_bytes(std::span(values));
    const auto refuse = [&](auto call) {
      refused[r] += test::failure_of(call).kind() == ErrorKind::usage;
    };
    // On one rank alone: it is this rank's own mistake.
    if (comm.rank() == Rank{1}) {
      refuse([&] { comm.all_to_all(all.first(12), all.subspan(8, 12)); });
      refuse([&] { comm.start_reduce_scatter(all.first(12), all.subspan(4, 4), {}); });
      refuse([&] { comm.start_all_gather(all.first(4), all.first(12)); });
    }
    comm.all_reduce(std::span(&sums[r], 1), ReduceOp::sum);
  });
  CHECK(refused == std::vector<int>{0, 3, 0});
  CHECK(sums == std::vector<std::int32_t>(ranks.size(), 3));
}

TEST_CASE("groups of a split work beside each other and beside the whole") {
  auto ranks = communicators_in_process(5, 20s);
  std::vector<std::vector<int>> seen(ranks.size());
  run_ranks(ranks, [&](Communicator& comm) {
    const int r = comm.rank().value;
    auto group = comm.split(r == 4 ? -1 : r % 2, -r);
    auto& mine = seen[index(comm.rank())];
    std::int32_t all = 1;
    if (group) {
      std::int32_t sum = r;
      group->all_reduce(std::span(&sum, 1), ReduceOp::sum);
      mine = {group->rank().value, group->size(), sum};
    }
    comm.all_reduce(std::span(&all, 1), ReduceOp::sum);
    mine.push_back(all);
  });
  CHECK(seen ==
        std::vector<std::vector<int>>{{1, 2, 2, 5}, {1, 2, 4, 5}, {0, 2, 2, 5}, {0, 2, 4, 5}, {5}});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
