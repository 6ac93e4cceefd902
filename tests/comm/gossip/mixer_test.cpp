// The arithmetic of gossip beside dense float64: averages that stay, and estimates that are equal
// on both ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "comm/codecs/codec_table.hpp"
#include "comm/gossip/gossip_plan.hpp"
#include "comm/gossip/mixer.hpp"
#include "comm/gossip/topology_file.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kCount = 777;
constexpr int kSteps = 12;

using Numbers = std::vector<float>;
using Wide = std::vector<double>;

/// All members of a graph in one thread. Messages are handed over in an order at random.
class Members {
 public:
  Members(GossipTopology topology, int members, MixMethod method, const Codec* codec = nullptr,
          double step_size = 1)
      : topology_(std::move(topology)), codec_(codec), step_size_(step_size) {
    const Weights weights = checked_weights(topology_, members, 0);
    for (int i = 0; i < members; ++i) {
      mixers.push_back(
          make_mixer(method, kCount, weights.rows[static_cast<std::size_t>(i)].from.size()));
      values.emplace_back(kCount);
      for (float& number : values.back())
        number = normal(random);
    }
  }

  void begin_equal() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = values[0];
      mixers[i]->agree(values[i]);
    }
  }

  void move(float size) {
    for (Numbers& each : values)
      for (float& number : each)
        number += size * normal(random);
  }

  void step(std::uint64_t number) {
    const Weights weights = checked_weights(topology_, static_cast<int>(values.size()), number);
    std::vector<std::vector<std::byte>> messages;
    for (std::size_t i = 0; i < values.size(); ++i) {
      messages.emplace_back(mixers[i]->message_bytes(codec_));
      mixers[i]->write(messages.back(), values[i], at(weights.rows[i], number * 100 + i));
    }
    std::vector<std::size_t> order(values.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      std::vector<MixIncoming> incoming;
      for (const auto& [member, weight] : weights.rows[i].from)
        incoming.push_back({messages[static_cast<std::size_t>(member)], weight});
      mixers[i]->mix(values[i], messages[i], incoming, at(weights.rows[i], 0));
    }
    last = weights;
  }

  Wide sum() const {
    Wide all(kCount);
    for (const Numbers& each : values)
      for (std::size_t i = 0; i < kCount; ++i)
        all[i] += each[i];
    return all;
  }

  std::vector<std::unique_ptr<Mixer>> mixers;
  std::vector<Numbers> values;
  Weights last;
  std::mt19937 random{5};
  std::normal_distribution<float> normal;

 private:
  MixStep at(const MixingRow& row, std::uint64_t seed) {
    return {codec_, step_size_, seed, row.own, scratch_};
  }

  GossipTopology topology_;
  const Codec* codec_;
  double step_size_;
  Numbers scratch_ = Numbers(kCount);
};

double largest_difference(const Wide& one, const Wide& other) {
  double most = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    most = std::max(most, std::abs(one[i] - other[i]));
  return most;
}

TEST_SUITE_BEGIN("comm/gossip/mixer");

TEST_CASE("neighbour averaging is the product with the weights, and keeps every average") {
  for (const std::string text : {"ring", "exponential", "one-peer-exponential", "hypercube",
                                 "random:3", "random:4:changing"})
    for (const int ranks : {1, 2, 5, 8, 17}) {
      CAPTURE(text);
      CAPTURE(ranks);
      Members all(gossip_topology(text), ranks, MixMethod::averaging);
      const Wide before = all.sum();
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        const std::vector<Numbers> old = all.values;
        all.step(step);
        for (std::size_t i = 0; i < old.size(); ++i) {
          Wide wanted(kCount);
          for (std::size_t at = 0; at < kCount; ++at) {
            wanted[at] = all.last.rows[i].own * old[i][at];
            for (const auto& [member, weight] : all.last.rows[i].from)
              wanted[at] += weight * old[static_cast<std::size_t>(member)][at];
          }
          CHECK(largest_difference(wanted, {all.values[i].begin(), all.values[i].end()}) < 3e-6);
        }
      }
      CHECK(largest_difference(before, all.sum()) < 1e-5 * ranks);
    }
}

TEST_CASE("push-sum keeps the sum, and leads to the average in a directed graph") {
  const GossipTopology topology{.kind = TopologyKind::file,
                                .graphs = parse_graphs("0 -> 1\n1 -> 2\n2 -> 0\n0 -> 2\n2 -> 3\n3 "
                                                       "-> 1\n3 -> 4\n4 -> 0"),
                                .text = "./directed"};
  Members all(topology, 5, MixMethod::push_sum);
  const Wide before = all.sum();
  const auto sum_inside = [&] {
    Wide sum(kCount);
    for (auto& mixer : all.mixers)
      for (std::size_t i = 0; i < kCount; ++i)
        sum[i] += mixer->memory()[0][i];
    return sum;
  };
  double weights = 0;
  for (std::uint64_t step = 0; step < 100; ++step)
    all.step(step);
  for (auto& mixer : all.mixers)
    weights += *mixer->weight();
  CHECK(weights == doctest::Approx(5).epsilon(1e-12));
  CHECK(largest_difference(before, sum_inside()) < 2e-4);
  for (const Numbers& each : all.values)
    for (std::size_t i = 0; i < kCount; ++i)
      CHECK(each[i] == doctest::Approx(before[i] / 5).epsilon(1e-3).scale(1));

  SUBCASE("what training adds is added to the sum once, by the same weight for each rank") {
    const Numbers at = all.values[3];
    for (float& number : all.values[3])
      number += 2;
    for (std::uint64_t step = 100; step < 200; ++step)
      all.step(step);
    for (const Numbers& each : all.values)
      for (std::size_t i = 0; i < kCount; ++i)
        CHECK(each[i] == doctest::Approx(at[i] + 0.4).epsilon(1e-3).scale(1));
  }
}

TEST_CASE("difference compression keeps every average, and estimates are equal on both ends") {
  const CodecChoice choices[] = {
      {CodecId::int8}, {CodecId::one_bit}, {CodecId::top_k, 0.01}, {CodecId::top_k, 0.3}};
  for (const std::string text : {"ring", "hypercube", "random:4"})
    for (const int ranks : {2, 5, 8})
      for (const CodecChoice& choice : choices) {
        CAPTURE(text);
        CAPTURE(ranks);
        CAPTURE(entry_of(choice.id).name);
        const auto codec = make_codec(choice);
        Members all(gossip_topology(text), ranks, MixMethod::difference, codec.get(),
                    usual_step_size(choice));
        all.begin_equal();
        for (std::uint64_t step = 0; step < kSteps; ++step) {
          all.move(0.1F);
          const Wide before = all.sum();
          all.step(step);
          CHECK(largest_difference(before, all.sum()) < 4e-6 * ranks);
          for (std::size_t i = 0; i < all.values.size(); ++i) {
            const auto known = all.mixers[i]->memory();
            const auto& from = all.last.rows[i].from;
            REQUIRE(known.size() == from.size() + 1);
            for (std::size_t k = 0; k < from.size(); ++k) {
              const auto own = all.mixers[static_cast<std::size_t>(from[k].member)]->memory()[0];
              CHECK(std::ranges::equal(known[k + 1], own));
            }
          }
        }
      }
}

TEST_CASE("with differences alone ranks come nearer, and without codes it is plain averaging") {
  const auto codec = make_codec({CodecId::top_k, 0.1});
  Members coded(gossip_topology("ring"), 8, MixMethod::difference, codec.get(), 0.2);
  coded.begin_equal();
  coded.move(1);
  const Wide sum = coded.sum();
  for (std::uint64_t step = 0; step < 600; ++step)
    coded.step(step);
  for (const Numbers& each : coded.values)
    for (std::size_t i = 0; i < kCount; ++i)
      CHECK(each[i] == doctest::Approx(sum[i] / 8).epsilon(0.01).scale(1));

  Members plain(gossip_topology("ring"), 8, MixMethod::averaging);
  Members without(gossip_topology("ring"), 8, MixMethod::difference);
  for (std::uint64_t step = 0; step < 5; ++step) {
    plain.step(step);
    without.step(step);
  }
  CHECK(plain.values == without.values);
}

TEST_CASE("a code that no encoder writes is reported with its neighbour") {
  const auto codec = make_codec({CodecId::top_k, 0.01});
  const auto mixer = make_mixer(MixMethod::difference, kCount, 2);
  Numbers values(kCount, 1.0F);
  Numbers scratch(kCount);
  std::vector<std::byte> own(mixer->message_bytes(codec.get()));
  const MixStep step{codec.get(), 0.1, 0, 0.5, scratch};
  mixer->write(own, values, step);
  const std::vector<std::byte> garbage(own.size(), std::byte{0xff});
  const MixIncoming incoming[] = {{own, 0.25}, {garbage, 0.25}};
  try {
    mixer->mix(values, own, incoming, step);
    FAIL("expected a failure");
  } catch (const MixFailure& failure) {
    CHECK(failure.neighbour == 1);
    CHECK(failure.error.kind() == ErrorKind::remote);
  }
}

TEST_CASE("a weight of push-sum that is not possible is reported with its neighbour") {
  const auto mixer = make_mixer(MixMethod::push_sum, 1, 1);
  Numbers values(1, 1.0F);
  Numbers scratch(1);
  std::vector<std::byte> own(mixer->message_bytes(nullptr));
  const MixStep step{nullptr, 1, 0, 0.5, scratch};
  mixer->write(own, values, step);
  for (const std::byte filling : {std::byte{0}, std::byte{0xff}}) {
    const std::vector<std::byte> garbage(own.size(), filling);
    const MixIncoming incoming[] = {{garbage, 0.5}};
    CHECK_THROWS_AS(mixer->mix(values, own, incoming, step), MixFailure);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
