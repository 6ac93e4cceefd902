// Encoded gradients on a device that computes on the CPU, beside the same ones on the host: results
// and saved states are equal to the last bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "comm/gradients/gradient_exchange.hpp"
#include "comm/gradients/saved_gradients.hpp"
#include "gpu/device_values.hpp"
#include "gpu/fake_device.hpp"
#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::DeviceValues;
using test::FakeDevice;
using Floats = std::vector<float>;
using Shape = std::vector<std::uint64_t>;

const Shape kShapes[] = {{1}, {700}, {3}, {50, 51}, {1024}, {33}, {2, 600}};

/// The memory that holds the gradients.
enum class Place { on_device, mixed, on_two_devices };

struct Ranks {
  int ranks = 1;
  int per_node = 1;
};

GradientSettings settings_of(const std::string& codec) {
  GradientSettings settings;
  settings.wire = WireType::encoded;
  settings.codec = *codec_choice(codec);
  settings.small = {1};
  settings.bucket = {4000};
  settings.streams = 2;
  settings.non_finite = NonFiniteAction::skip;
  return settings;
}

std::size_t elements(const Shape& shape) {
  std::size_t count = 1;
  for (const std::uint64_t length : shape)
    count *= length;
  return count;
}

/// One rank's gradients, once on the host and once elsewhere, with an exchange each.
class Twins {
 public:
  Twins(Communicator& comm, const GradientSettings& settings, Place place)
      : device_(std::make_shared<FakeDevice>()),
        second_(std::make_shared<FakeDevice>()),
        random_(static_cast<unsigned>(comm.rank().value)),
        host_(comm, settings),
        elsewhere_(comm, settings) {
    for (std::size_t i = 0; i < std::size(kShapes); ++i) {
      const GradientInfo info{.name = "g" + std::to_string(i), .shape = kShapes[i]};
      values_.emplace_back(elements(kShapes[i]));
      host_.add(info, std::as_writable_bytes(std::span(values_.back())));
    }
    others_ = values_;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const GradientInfo info{.name = "g" + std::to_string(i), .shape = kShapes[i]};
      const auto device = place == Place::on_two_devices && i % 2 == 1 ? second_ : device_;
      on_device_.push_back(place == Place::mixed && i % 3 == 0
                               ? nullptr
                               : std::make_unique<DeviceValues<float>>(*device, values_[i]));
      if (on_device_.back())
        elsewhere_.add(info, on_device_.back()->bytes(), device);
      else
        elsewhere_.add(info, std::as_writable_bytes(std::span(others_[i])));
    }
  }

  void use_operation(ReduceOp op) {
    host_.use_operation(op);
    elsewhere_.use_operation(op);
  }

  void fill() {
    std::normal_distribution<float> normal;
    for (Floats& each : values_)
      std::ranges::generate(each, [&] { return normal(random_); });
  }

  /// Exchanges the gradients but for `without`; returns false if results differ.
  bool exchange_now(std::size_t without = std::size(kShapes)) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (on_device_[i])
        on_device_[i]->write(values_[i]);
      else
        others_[i] = values_[i];
    }
    const auto exchange = [&](GradientExchange& each) {
      for (std::size_t i = values_.size(); i > 0; --i)
        if (i - 1 != without) each.ready({i - 1});
      return each.wait_step();
    };
    const StepOutcome expected = exchange(host_);
    const StepOutcome outcome = exchange(elsewhere_);
    bool is_same = expected.is_applied == outcome.is_applied &&
                   expected.non_finite.has_value() == outcome.non_finite.has_value() &&
                   expected.skipped == outcome.skipped;
    for (std::size_t i = 0; i < values_.size(); ++i)
      is_same &= (on_device_[i] ? on_device_[i]->read() : others_[i]) == values_[i];
    return is_same;
  }

  bool step() {
    fill();
    return exchange_now();
  }

  /// Returns the residual of an element, 0 for one that has none.
  static Floats residuals(GradientExchange& exchange, const Communicator& comm) {
    CodecState state;
    const std::vector<std::byte> saved = exchange.saved_state();
    state.load(decode_gradients(saved).codec, exchange.table(), comm.rank(), comm.size());
    Floats all;
    for (std::size_t i = 0; i < std::size(kShapes); ++i) {
      Floats of(elements(kShapes[i]));
      state.add_to({i}, 0, of);
      all.insert(all.end(), of.begin(), of.end());
    }
    return all;
  }

  GradientExchange& host() { return host_; }
  GradientExchange& elsewhere() { return elsewhere_; }
  FakeDevice& device() { return *device_; }
  std::vector<Floats>& values() { return values_; }

 private:
  std::shared_ptr<FakeDevice> device_, second_;
  std::vector<Floats> values_;  ///< The host's gradients, and then results.
  std::vector<Floats> others_;  ///< Those of the host, of gradients that are mixed.
  std::vector<std::unique_ptr<DeviceValues<float>>> on_device_;
  std::mt19937 random_;
  GradientExchange host_, elsewhere_;
};

/// Calls body(twins, comm) on every rank, and returns the sentences of those where it is false.
std::vector<std::string> differences(const Ranks& cluster, const GradientSettings& settings,
                                     Place place,
                                     const std::function<bool(Twins&, Communicator&)>& body) {
  auto ranks =
      test::communicators_in_process(cluster.ranks, 20s, SharedMemory::on, 1, cluster.per_node);
  std::vector<char> is_same(ranks.size());
  test::run_ranks(ranks, [&](Communicator& comm) {
    Twins twins(comm, settings, place);
    is_same[static_cast<std::size_t>(comm.rank().value)] = body(twins, comm) ? 1 : 0;
  });
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < is_same.size(); ++i)
    if (is_same[i] == 0) wrong.push_back("rank " + std::to_string(i));
  return wrong;
}

const std::vector<std::string> kNone;
constexpr Ranks kClusters[] = {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {4, 2}, {5, 1}};
const std::string kDeviceCodecs[] = {"int8", "1bit", "topk:0.05"};

bool steps_are_same(Twins& twins, Communicator& comm) {
  bool is_same = true;
  for (int step = 0; step < 5; ++step)
    is_same &= twins.step();
  return is_same &&
         Twins::residuals(twins.host(), comm) == Twins::residuals(twins.elsewhere(), comm);
}

TEST_SUITE_BEGIN("comm/gradients/encoded_device");

TEST_CASE("encoded gradients of a device have the host's bits, and so have their residuals") {
  for (const Ranks& cluster : kClusters)
    for (const std::string& codec : kDeviceCodecs)
      for (const Place place : {Place::on_device, Place::mixed, Place::on_two_devices}) {
        CAPTURE(cluster.ranks);
        CAPTURE(cluster.per_node);
        CAPTURE(codec);
        CAPTURE(static_cast<int>(place));
        CHECK(differences(cluster, settings_of(codec), place, steps_are_same) == kNone);
      }
}

TEST_CASE("codecs that a device does not have are applied on the host, to the same bits") {
  for (const std::string codec : {"powersgd:2", "powersgd:2,momentum=0.9", "1bit,momentum=0.5",
                                  "topk:0.1,momentum=0.9", "topk:0.1,memory=0.1"})
    for (const Place place : {Place::on_device, Place::mixed}) {
      CAPTURE(codec);
      CHECK(differences({3, 1}, settings_of(codec), place, [](Twins& twins, Communicator& comm) {
              return steps_are_same(twins, comm) && twins.device().encodings() == 0;
            }) == kNone);
    }
}

TEST_CASE("codes alone leave a device whose rank encodes all of its numbers") {
  const auto encodes = [](Twins& twins, Communicator&) {
    twins.step();
    return twins.device().encodings() > 0 && twins.device().pageable_copies() < 100;
  };
  const auto leaves_it_to_the_host = [](Twins& twins, Communicator&) {
    twins.step();
    return twins.device().encodings() == 0;
  };
  for (const std::string& codec : kDeviceCodecs) {
    CHECK(differences({3, 1}, settings_of(codec), Place::on_device, encodes) == kNone);
    CHECK(differences({2, 2}, settings_of(codec), Place::on_device, encodes) == kNone);
    CHECK(differences({4, 2}, settings_of(codec), Place::on_device, leaves_it_to_the_host) ==
          kNone);
    CHECK(differences({3, 1}, settings_of(codec), Place::on_two_devices, leaves_it_to_the_host) ==
          kNone);
  }
}

TEST_CASE("ranks that encode on a device and on the host exchange the same codes") {
  for (const std::string& codec : kDeviceCodecs) {
    auto ranks = test::communicators_in_process(3, 20s, SharedMemory::on, 1, 1);
    std::vector<Floats> results(3);
    test::run_ranks(ranks, [&](Communicator& comm) {
      const auto self = static_cast<std::size_t>(comm.rank().value);
      const auto device = std::make_shared<FakeDevice>();
      Floats values(3000);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(static_cast<float>(i * (self + 1)));
      const DeviceValues<float> there(*device, values);
      GradientExchange exchange(comm, settings_of(codec));
      const GradientInfo info{.name = "g", .shape = {values.size()}};
      if (self == 1)
        exchange.add(info, there.bytes(), device);
      else
        exchange.add(info, std::as_writable_bytes(std::span(values)));
      for (int step = 0; step < 3; ++step)
        exchange.all_reduce_gradients(ReduceOp::average);
      results[self] = self == 1 ? there.read() : values;
    });
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("residuals on a device survive another operation, skipped steps, and missing gradients") {
  for (const std::string& codec : kDeviceCodecs)
    for (const Ranks& cluster : {Ranks{2, 1}, Ranks{3, 1}})
      CHECK(differences(cluster, settings_of(codec), Place::on_device,
                        [](Twins& twins, Communicator& comm) {
                          bool is_same = twins.step() && twins.step();
                          twins.use_operation(ReduceOp::max);
                          is_same &= twins.step();
                          twins.use_operation(ReduceOp::sum);
                          is_same &= twins.step();
                          twins.fill();
                          if (comm.rank() == Rank{1})
                            twins.values()[3][1234] = std::numeric_limits<float>::quiet_NaN();
                          twins.exchange_now();  // Skipped; NaN is not equal to NaN.
                          twins.fill();
                          is_same &= twins.exchange_now(4);
                          return is_same && steps_are_same(twins, comm);
                        }) == kNone);
}

TEST_CASE("a saved state goes on elsewhere: from a device to the host, and back") {
  for (const std::string& codec : kDeviceCodecs)
    CHECK(differences({3, 1}, settings_of(codec), Place::on_device,
                      [](Twins& twins, Communicator& comm) {
                        bool is_same = twins.step() && twins.step();
                        const auto of_device = twins.elsewhere().saved_state();
                        const auto of_host = twins.host().saved_state();
                        twins.step();
                        twins.elsewhere().load_state(of_host);
                        twins.host().load_state(of_device);
                        return is_same && steps_are_same(twins, comm);
                      }) == kNone);
}

TEST_CASE("a warm-up changes the codec of a device, and keeps residuals") {
  for (const std::string codec : {"topk:0.01,warmup=6", "1bit,warmup=3"})
    for (const Place place : {Place::on_device, Place::mixed})
      CHECK(differences({3, 1}, settings_of(codec), place, [](Twins& twins, Communicator& comm) {
              bool is_same = true;
              for (int step = 0; step < 6; ++step)
                is_same &= twins.step();
              return is_same && steps_are_same(twins, comm);
            }) == kNone);
}

TEST_CASE("residuals of a device survive other buckets: nothing is lost") {
  constexpr std::size_t kPart = 1000;
  constexpr std::size_t kCount = 3 * kPart;
  GradientSettings settings = settings_of("1bit");
  settings.is_tuned = true;
  auto ranks = test::communicators_in_process(3, 20s, SharedMemory::on, 1, 1);
  std::vector<std::vector<double>> of_ranks(3, std::vector<double>(kCount));
  test::run_ranks(ranks, [&](Communicator& comm) {
    const auto device = std::make_shared<FakeDevice>();
    DeviceValues<float> there(*device, Floats(kCount));
    GradientExchange exchange(comm, settings);
    exchange.use_operation(ReduceOp::sum);
    for (std::size_t i = 0; i < 3; ++i)
      exchange.add({.name = "g" + std::to_string(i), .shape = {kPart}},
                   there.bytes().subspan(i * kPart * sizeof(float), kPart * sizeof(float)), device);
    auto& rest = of_ranks[static_cast<std::size_t>(comm.rank().value)];
    const auto add = [&rest](const Floats& numbers, double factor) {
      for (std::size_t i = 0; i < rest.size(); ++i)
        rest[i] += factor * static_cast<double>(numbers[i]);
    };
    for (int step = 0; step < Tuner::kMostSteps + 4; ++step) {
      Floats values(kCount);
      for (std::size_t i = 0; i < kCount; ++i)
        values[i] = static_cast<float>(i % 7) - 3 + static_cast<float>(comm.rank().value);
      there.write(values);
      add(values, 1);
      exchange.all_reduce_gradients(ReduceOp::sum);
      if (comm.rank() == Rank{0}) add(there.read(), -1);
    }
    CodecState state;
    const std::vector<std::byte> saved = exchange.saved_state();
    state.load(decode_gradients(saved).codec, exchange.table(), comm.rank(), comm.size());
    Floats residuals(kCount);
    for (std::size_t i = 0; i < 3; ++i)
      state.add_to({i}, 0, std::span(residuals).subspan(i * kPart, kPart));
    add(residuals, -1);
  });
  for (std::size_t i = 0; i < kCount; ++i)
    CHECK(std::abs(of_ranks[0][i] + of_ranks[1][i] + of_ranks[2][i]) < 1e-2);
}

TEST_CASE("a number that is not finite on a device is named, and reaches all ranks") {
  for (const std::string& codec : kDeviceCodecs) {
    GradientSettings settings = settings_of(codec);
    settings.non_finite = NonFiniteAction::warn;
    auto ranks = test::communicators_in_process(3, 10s, SharedMemory::on, 1, 1);
    std::vector<std::string> said(3);
    test::run_ranks(ranks, [&](Communicator& comm) {
      const auto device = std::make_shared<FakeDevice>();
      Floats values(2000, 1);
      if (comm.rank() == Rank{2}) values[1234] = std::numeric_limits<float>::infinity();
      const DeviceValues<float> there(*device, values);
      test::Sentences sentences;
      GradientExchange exchange(comm, settings, &sentences);
      exchange.add({.name = "g", .shape = {values.size()}}, there.bytes(), device);
      exchange.all_reduce_gradients(ReduceOp::average);
      std::string& mine = said[static_cast<std::size_t>(comm.rank().value)];
      mine = sentences.all.empty() ? "nothing" : sentences.all.front();
      if (std::isfinite(there.read()[1234])) mine = "lost";
    });
    const std::string sentence = "step 0: gradient 'g' of rank 2 has infinity at index 1234";
    CHECK(said == std::vector<std::string>{"nothing", "nothing", sentence});
  }
}

TEST_CASE("a device that fails while it encodes ends the step on all ranks") {
  auto ranks = test::communicators_in_process(3, 10s, SharedMemory::on, 1, 1);
  const auto outcomes = test::outcomes_of_ranks(ranks, [](Communicator& comm) {
    const auto device = std::make_shared<FakeDevice>();
    const DeviceValues<float> values(*device, Floats(3000, 1));
    GradientExchange exchange(comm, settings_of("1bit"));
    exchange.add({.name = "g", .shape = {3000}}, values.bytes(), device);
    exchange.all_reduce_gradients(ReduceOp::average);
    if (comm.rank() == Rank{1}) device->hold();
    exchange.ready({0});
    if (comm.rank() == Rank{1}) device->break_down("an illegal instruction was met");
    exchange.wait_step();
  });
  for (const auto& outcome : outcomes)
    CHECK(test::mentions(test::failure_in(outcome), "an illegal instruction was met"));
}

TEST_CASE("NCCL is refused for factors, which are sums of sums") {
  const auto outcomes = [] {
    auto ranks = test::communicators_in_process(2, 10s);
    return test::outcomes_of_ranks(ranks, [](Communicator& comm) {
      GradientSettings settings = settings_of("powersgd:2");
      settings.device.path = gpu::DevicePath::nccl;
      Twins(comm, settings, Place::on_device).step();
    });
  }();
  for (const auto& outcome : outcomes)
    CHECK(test::mentions(test::failure_in(outcome),
                         "FASTGPU_COMM_WIRE powersgd does not go with NCCL"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
