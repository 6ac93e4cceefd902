#include "comm/gradients/device_gradients.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/gradients/gradient_exchange.hpp"
#include "gpu/device_values.hpp"
#include "gpu/gradients_as_host.hpp"
#include "gpu/ranks_on_devices.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::DeviceValues;
using test::FakeDevice;
using test::OnRank;
using test::run_on_devices;
using Floats = std::vector<float>;

/// All-reduces that NCCL was given, by all ranks.
std::atomic<int> sums_by_nccl = 0;

struct Staged {
  static void prepare(const OnRank&) {}
};
struct ByNccl {
  static void prepare(const OnRank& rank) {
    gpu::NcclFunctions functions = test::fake_nccl();
    functions.all_reduce = [](auto... arguments) {
      ++sums_by_nccl;
      return test::fake_nccl().all_reduce(arguments...);
    };
    rank.install_nccl(functions);
  }
};

template <class Way, class Body>
std::vector<std::exception_ptr> outcomes_on(int size, Body body) {
  return test::outcomes_on_devices(size, [&](const OnRank& rank) {
    Way::prepare(rank);
    body(rank);
  });
}

template <class Way, class Body>
void run_on(int size, Body body) {
  sums_by_nccl = 0;
  for (const auto& outcome : outcomes_on<Way>(size, body))
    if (outcome) std::rethrow_exception(outcome);
  CHECK((sums_by_nccl > 0) == std::is_same_v<Way, ByNccl>);
}

GradientSettings settings_with(WireType wire, NonFiniteAction check = NonFiniteAction::off) {
  GradientSettings settings;
  settings.bucket = {256};
  settings.wire = wire;
  settings.non_finite = check;
  return settings;
}

template <class T>
GradientInfo info_of(const std::string& name, std::size_t count) {
  return {.name = name, .type = kElementType<T>, .shape = {count}};
}

template <class T>
GradientId add(GradientExchange& exchange, const OnRank& rank, const std::string& name,
               const DeviceValues<T>& values) {
  return exchange.add(info_of<T>(name, values.bytes().size() / sizeof(T)), values.bytes(),
                      rank.device);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_SUITE_BEGIN("comm/device_gradients");

TEST_CASE("gradients on devices have the bits that those of the host have, beside them") {
  constexpr std::size_t kCounts[] = {3, 200, 17, 1, 64};  // The second is cut into pieces.
  for (int size = 1; size <= 4; ++size) {
    for (const WireType wire : {WireType::same, WireType::float16, WireType::mixed}) {
      CAPTURE(size);
      CAPTURE(static_cast<int>(wire));
      std::vector<char> is_same(static_cast<std::size_t>(size), 0);
      run_on_devices(size, [&](const OnRank& rank) {
        is_same[rank.self] = static_cast<char>(
            test::gradients_as_the_host(rank.comm, rank.device, kCounts, settings_with(wire)));
      });
      CHECK(is_same == std::vector<char>(is_same.size(), 1));
    }
  }
}

TEST_CASE("gradients summed by NCCL are those that the host sums, beside ones of the host") {
  for (int size = 1; size <= 4; ++size) {
    for (const WireType wire :
         {WireType::same, WireType::float16, WireType::bfloat16, WireType::mixed}) {
      CAPTURE(size);
      CAPTURE(static_cast<int>(wire));
      std::vector<int> differences(static_cast<std::size_t>(size));
      sums_by_nccl = 0;
      run_on_devices(size, [&](const OnRank& rank) {
        ByNccl::prepare(rank);
        const std::size_t counts[] = {3, 200, 17, 1, 64};
        std::vector<Floats> values, of_host;
        std::vector<std::unique_ptr<DeviceValues<float>>> on_device;
        GradientExchange host(rank.comm, settings_with(wire));
        GradientExchange exchange(rank.comm, settings_with(wire));
        for (const std::size_t count : counts) {  // Sums of few bits: exact in any order.
          Floats numbers(count);
          for (std::size_t i = 0; i < count; ++i)
            numbers[i] = static_cast<float>(4 * ((i + rank.self) % 8));
          values.push_back(numbers);
          on_device.push_back(std::make_unique<DeviceValues<float>>(*rank.device, numbers));
        }
        of_host = values;
        for (std::size_t i = 0; i < values.size(); ++i) {
          host.add(std::to_string(i), std::span(values[i]));
          const bool is_here = (i + rank.self) % 3 == 2;  // Others elsewhere on each rank.
          if (is_here)
            exchange.add(std::to_string(i), std::span(of_host[i]));
          else
            add(exchange, rank, std::to_string(i), *on_device[i]);
        }
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
          host.all_reduce_gradients(op);
          exchange.all_reduce_gradients(op);
          for (std::size_t i = 0; i < values.size(); ++i) {
            const bool is_here = (i + rank.self) % 3 == 2;
            differences[rank.self] +=
                (is_here ? of_host[i] : on_device[i]->read()) == values[i] ? 0 : 1;
          }
        }
      });
      CHECK(differences == std::vector<int>(differences.size(), 0));
      // What is to be added in float32 is not NCCL's.
      CHECK((sums_by_nccl == 0) == (wire == WireType::mixed && size > 2));
    }
  }
}

TEST_CASE("gradients of ranks without a GPU are summed by the host, though others have NCCL") {
  std::vector<Floats> results(2);
  sums_by_nccl = 0;
  run_on_devices(2, [&](const OnRank& rank) {
    ByNccl::prepare(rank);
    Floats on_host(100, 2);
    const DeviceValues<float> values(*rank.device, Floats(100, 1));
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    if (rank.self == 0)
      add(exchange, rank, "values", values);
    else
      exchange.add("values", std::span(on_host));
    exchange.all_reduce_gradients(ReduceOp::sum);
    results[rank.self] = rank.self == 0 ? values.read() : on_host;
  });
  CHECK(results == std::vector<Floats>(2, Floats(100, 3)));
  CHECK(sums_by_nccl == 0);
}

TEST_CASE("who insists on NCCL is told why gradients cannot have it") {
  const auto refusal = [](WireType wire, auto prepare) {
    const auto outcomes = test::outcomes_on_devices(3, [&](const OnRank& rank) {
      const DeviceValues<float> values(*rank.device, Floats(100, 1));
      GradientSettings settings = settings_with(wire);
      settings.device.path = gpu::DevicePath::nccl;
      prepare(rank);
      GradientExchange exchange(rank.comm, settings);
      add(exchange, rank, "values", values);
      exchange.ready({0});
    });
    for (const auto& outcome : outcomes)
      CHECK(test::failure_in(outcome).kind() == ErrorKind::usage);
    return std::string(test::failure_in(outcomes[2]).what());
  };
  CHECK(has(refusal(WireType::mixed, ByNccl::prepare),
            "FASTGPU_COMM_WIRE mixed does not go with NCCL"));
  CHECK(has(refusal(WireType::same,
                    [](const OnRank& rank) {
                      if (rank.self != 1) ByNccl::prepare(rank);
                    }),
            "rank 1 cannot load NCCL"));
}

TEST_CASE("a rank that goes while NCCL sums ends the step on the others, and nobody hangs") {
  const auto outcomes = outcomes_on<ByNccl>(3, [](const OnRank& rank) {
    const DeviceValues<float> values(*rank.device, Floats(1000, 1));
    auto exchange = std::make_unique<GradientExchange>(rank.comm, settings_with(WireType::same));
    add(*exchange, rank, "values", values);
    exchange->all_reduce_gradients(ReduceOp::average);
    if (rank.self == 1) {
      exchange.reset();
      const Communicator gone = std::move(rank.comm);
      return;
    }
    exchange->all_reduce_gradients(ReduceOp::average);
  });
  CHECK_FALSE(outcomes[1]);
  for (const std::size_t rank : {0, 2})
    CHECK(test::mentions(test::failure_in(outcomes[rank]), "rank 1"));
}

TEST_CASE_TEMPLATE("other types than float32 travel from devices as well", Way, Staged, ByNccl) {
  std::vector<char> is_right(3, 0);
  run_on<Way>(3, [&](const OnRank& rank) {
    const DeviceValues<double> doubles(*rank.device, std::vector<double>(9, 1.5));
    const DeviceValues<std::int32_t> whole(*rank.device, std::vector<std::int32_t>(5, 7));
    const DeviceValues<std::uint8_t> small(*rank.device, std::vector<std::uint8_t>(3, 2));
    GradientExchange exchange(rank.comm, settings_with(WireType::float16, NonFiniteAction::stop));
    add(exchange, rank, "doubles", doubles);
    add(exchange, rank, "whole", whole);
    add(exchange, rank, "small", small);
    exchange.all_reduce_gradients(ReduceOp::sum);
    is_right[rank.self] = static_cast<char>(doubles.read() == std::vector<double>(9, 4.5) &&
                                            whole.read() == std::vector<std::int32_t>(5, 21) &&
                                            small.read() == std::vector<std::uint8_t>(3, 6));
  });
  CHECK(is_right == std::vector<char>(3, 1));
}

TEST_CASE_TEMPLATE("ready waits for nobody, and results come in the order of the stream", Way,
                   Staged, ByNccl) {
  std::vector<Floats> results(2);
  run_on<Way>(2, [&](const OnRank& rank) {
    const auto stream = gpu::stream_of(*rank.device);
    const DeviceValues<float> values(*rank.device, Floats(500, -1));
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    const GradientId id = add(exchange, rank, "values", values);
    for (int step = 0; step < 3; ++step) {
      exchange.use_operation(ReduceOp::sum);
      rank.device->hold();
      rank.device->run(stream.get(),
                       [&] { std::ranges::fill(std::span(values.data(), 500), 3.0F); });
      exchange.ready(id, stream.get());
      rank.device->go_on();
      exchange.wait_step(stream.get());
      rank.device->run(stream.get(), [&] { values.data()[7] += 1; });
    }
    results[rank.self] = values.read(stream.get());
  });
  Floats expected(500, 6);
  expected[7] = 7;
  CHECK(results == std::vector<Floats>(2, expected));
}

TEST_CASE_TEMPLATE("a bucket is packed in one launch", Way, Staged, ByNccl) {
  std::vector<int> launches(2);
  std::size_t buckets = 0;
  run_on<Way>(2, [&](const OnRank& rank) {
    std::vector<std::unique_ptr<DeviceValues<float>>> values;
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    for (int i = 0; i < 20; ++i) {
      values.push_back(std::make_unique<DeviceValues<float>>(*rank.device, Floats(16, 1)));
      add(exchange, rank, std::to_string(i), *values.back());
    }
    exchange.all_reduce_gradients(ReduceOp::average);
    launches[rank.self] = rank.device->packs();
    if (rank.self == 0) buckets = exchange.buckets();
  });
  CHECK(buckets == 5);
  CHECK(launches == std::vector<int>(2, 5));
}

TEST_CASE_TEMPLATE("NaN on a device is told with its gradient, its rank and its place", Way, Staged,
                   ByNccl) {
  std::vector<StepOutcome> outcomes(3);
  std::vector<Floats> left(3);
  run_on<Way>(3, [&](const OnRank& rank) {
    Floats numbers(300, 1);
    if (rank.self == 1) numbers[217] = std::numeric_limits<float>::quiet_NaN();
    if (rank.self == 1) numbers[290] = std::numeric_limits<float>::infinity();
    const DeviceValues<float> fine(*rank.device, Floats(5, 1));
    const DeviceValues<float> values(*rank.device, numbers);
    GradientExchange exchange(rank.comm, settings_with(WireType::float16, NonFiniteAction::skip));
    add(exchange, rank, "fine", fine);
    add(exchange, rank, "values", values);
    for (std::size_t i = 0; i < 2; ++i)
      exchange.ready({i});
    outcomes[rank.self] = exchange.wait_step();
    left[rank.self] = fine.read();
  });
  for (const StepOutcome& outcome : outcomes) {
    CHECK_FALSE(outcome.is_applied);
    REQUIRE(outcome.non_finite);
    CHECK(*outcome.non_finite ==
          NonFiniteReport{Rank{1}, GradientId{1}, 217, NonFiniteReport::Value::nan});
  }
  CHECK(left == std::vector<Floats>(3, Floats(5, 1)));
}

TEST_CASE_TEMPLATE("what is ready on no rank is left alone, and its neighbours are exchanged", Way,
                   Staged, ByNccl) {
  std::vector<Floats> skipped(2), exchanged(2);
  run_on<Way>(2, [&](const OnRank& rank) {
    const DeviceValues<float> a(*rank.device, Floats(8, 1));
    const DeviceValues<float> b(*rank.device, Floats(8, 2));
    const DeviceValues<float> c(*rank.device, Floats(8, 3));
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    for (const auto* values : {&a, &b, &c})
      add(exchange, rank,
          std::to_string(values->bytes().size()) + std::to_string(values == &b) +
              std::to_string(values == &c),
          *values);
    exchange.use_operation(ReduceOp::sum);
    for (const std::size_t id : {0, 2})
      exchange.ready({id});
    exchange.wait_step();
    skipped[rank.self] = b.read();
    exchanged[rank.self] = c.read();
  });
  CHECK(skipped == std::vector<Floats>(2, Floats(8, 2)));
  CHECK(exchanged == std::vector<Floats>(2, Floats(8, 6)));
}

TEST_CASE_TEMPLATE("steps that leave out the same gradients prepare no list again", Way, Staged,
                   ByNccl) {
  std::vector<std::vector<int>> lists(2);
  std::vector<Floats> last(2);
  run_on<Way>(2, [&](const OnRank& rank) {
    const DeviceValues<float> a(*rank.device, Floats(8, 1));
    const DeviceValues<float> b(*rank.device, Floats(8, 1));
    const DeviceValues<float> c(*rank.device, Floats(8, 1));
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    add(exchange, rank, "a", a);
    add(exchange, rank, "b", b);
    add(exchange, rank, "c", c);
    exchange.use_operation(ReduceOp::sum);
    for (int step = 0; step < 20; ++step) {
      // One, the other and again one of two kinds of step; at last every kind, more than are kept.
      const int kind = step < 8 ? step % 2 : step % 7;
      for (const std::size_t id : {0U, 1U, 2U})
        if (((static_cast<unsigned>(kind) + 1) >> id & 1U) != 0) exchange.ready({id});
      exchange.wait_step();
      if (step == 3 || step == 7) lists[rank.self].push_back(rank.device->lists());
    }
    last[rank.self] = a.read();
  });
  for (const auto& counts : lists)
    CHECK(counts[0] == counts[1]);
  CHECK(last[0] == last[1]);
}

TEST_CASE_TEMPLATE(
    "a gradient that is missing on one rank is an error on all, and the next step is fine", Way,
    Staged, ByNccl) {
  std::vector<std::string> failures(3);
  std::vector<Floats> results(3);
  run_on<Way>(3, [&](const OnRank& rank) {
    const DeviceValues<float> a(*rank.device, Floats(8, 1));
    const DeviceValues<float> b(*rank.device, Floats(100, 1));
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    add(exchange, rank, "a", a);
    add(exchange, rank, "b", b);
    exchange.use_operation(ReduceOp::sum);
    exchange.ready({0});
    if (rank.self != 2) exchange.ready({1});
    try {
      exchange.wait_step();
    } catch (const Error& e) {
      failures[rank.self] = e.what();
    }
    exchange.all_reduce_gradients(ReduceOp::sum);
    results[rank.self] = b.read();
  });
  for (const std::string& failure : failures) {
    CHECK(has(failure, "rank 2"));
    CHECK(has(failure, "'b'"));
  }
  CHECK(results == std::vector<Floats>(3, Floats(100, 3)));
}

TEST_CASE(
    "a bucket has gradients of two devices and of the host, with the bits of the host alone") {
  for (const WireType wire : {WireType::same, WireType::float16, WireType::mixed}) {
    CAPTURE(static_cast<int>(wire));
    std::vector<int> differences(3);
    run_on_devices(3, [&](const OnRank& rank) {
      rank.install_nccl();  // It takes one device for each rank: unused.
      const auto second = std::make_shared<FakeDevice>();
      const std::size_t counts[] = {3, 200, 17, 1, 64, 9};
      std::vector<Floats> values, of_host;
      std::vector<std::unique_ptr<DeviceValues<float>>> on_device;
      GradientExchange host(rank.comm, settings_with(wire));
      GradientExchange exchange(rank.comm, settings_with(wire));
      const auto device_of = [&](std::size_t i) { return i % 3 == 0 ? rank.device : second; };
      for (std::size_t i = 0; i < std::size(counts); ++i) {
        values.emplace_back(counts[i], 0.37F * static_cast<float>(i + rank.self + 1));
        on_device.push_back(std::make_unique<DeviceValues<float>>(*device_of(i), values[i]));
      }
      of_host = values;
      for (std::size_t i = 0; i < std::size(counts); ++i) {
        host.add(std::to_string(i), std::span(values[i]));
        if (i % 3 == 2)
          exchange.add(std::to_string(i), std::span(of_host[i]));
        else
          exchange.add(info_of<float>(std::to_string(i), counts[i]), on_device[i]->bytes(),
                       device_of(i));
      }
      for (int step = 0; step < 3; ++step) {
        host.all_reduce_gradients(ReduceOp::average);
        exchange.all_reduce_gradients(ReduceOp::average);
        for (std::size_t i = 0; i < std::size(counts); ++i)
          differences[rank.self] +=
              (i % 3 == 2 ? of_host[i] : on_device[i]->read()) == values[i] ? 0 : 1;
      }
    });
    CHECK(differences == std::vector<int>(3));
  }
}

TEST_CASE("one of a rank's devices that fails ends the step on all ranks") {
  const auto outcomes = outcomes_on<Staged>(2, [](const OnRank& rank) {
    const auto second = std::make_shared<FakeDevice>();
    const DeviceValues<float> here(*rank.device, Floats(100, 1));
    const DeviceValues<float> there(*second, Floats(100, 1));
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    add(exchange, rank, "here", here);
    exchange.add(info_of<float>("there", 100), there.bytes(), second);
    exchange.all_reduce_gradients(ReduceOp::average);
    if (rank.self == 1) second->break_down("an illegal instruction was met");
    exchange.all_reduce_gradients(ReduceOp::average);
  });
  for (const auto& outcome : outcomes)
    CHECK(test::mentions(test::failure_in(outcome), "an illegal instruction was met"));
}

TEST_CASE("what does not belong to a device is refused") {
  run_on_devices(1, [](const OnRank& rank) {
    const auto other = std::make_shared<FakeDevice>();
    const DeviceValues<float> here(*rank.device, Floats(4));
    const DeviceValues<float> there(*other, Floats(4));
    Floats on_host(4);
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    add(exchange, rank, "here", here);
    const auto refusal_of = [](auto action) {
      try {
        action();
      } catch (const Error& e) {
        return e.kind() == ErrorKind::usage ? std::string(e.what()) : "another kind";
      }
      return std::string("none");
    };
    const auto info = info_of<float>("wrong", 4);
    const std::string refusals[] = {
        refusal_of([&] { exchange.add(info, there.bytes(), rank.device); }), refusal_of([&] {
          exchange.add(info, std::as_writable_bytes(std::span(on_host)), rank.device);
        }),
        refusal_of([&] { exchange.add(info, {}, rank.device); }),
        refusal_of([&] { exchange.view({0}); })};
    const char* const expected[] = {"not in this GPU's memory", "not in this GPU's memory",
                                    "has no memory there", "no view"};
    for (std::size_t i = 0; i < std::size(expected); ++i)
      if (!has(refusals[i], expected[i])) throw Error(ErrorKind::internal, refusals[i]);
  });
}

TEST_CASE_TEMPLATE("a device without memory ends the first step of all ranks", Way, Staged,
                   ByNccl) {
  const auto outcomes = outcomes_on<Way>(3, [](const OnRank& rank) {
    const DeviceValues<float> values(*rank.device, Floats(1000, 1));
    if (rank.self == 2) rank.device->limit_memory(100);
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    add(exchange, rank, "values", values);
    exchange.all_reduce_gradients(ReduceOp::average);
  });
  for (const auto& outcome : outcomes)
    CHECK(test::mentions(test::failure_in(outcome), "out of memory"));
  for (const std::size_t rank : {0, 1})
    CHECK(test::mentions(test::failure_in(outcomes[rank]), "rank 2"));
}

TEST_CASE_TEMPLATE("a device that fails within a step ends it on all ranks, and nobody hangs", Way,
                   Staged, ByNccl) {
  const auto outcomes = outcomes_on<Way>(3, [](const OnRank& rank) {
    const DeviceValues<float> values(*rank.device, Floats(1000, 1));
    GradientExchange exchange(rank.comm, settings_with(WireType::same));
    add(exchange, rank, "values", values);
    exchange.all_reduce_gradients(ReduceOp::average);
    if (rank.self == 1) rank.device->hold();
    exchange.ready({0});
    if (rank.self == 1) rank.device->break_down("an illegal instruction was met");
    exchange.wait_step();
  });
  for (const auto& outcome : outcomes)
    CHECK(test::mentions(test::failure_in(outcome), "an illegal instruction was met"));
  for (const std::size_t rank : {0, 2})
    CHECK(test::mentions(test::failure_in(outcomes[rank]), "rank 1"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
