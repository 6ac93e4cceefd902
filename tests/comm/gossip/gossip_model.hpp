// A small model whose ranks average by gossip, and settings for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/gossip/gossip.hpp"
#include "comm/gossip/topology_file.hpp"

namespace fastgpu::test {

using GossipNumbers = std::vector<float>;

inline comm::GossipSettings settings_with(const std::string& topology,
                                          std::optional<comm::CodecChoice> codec = {}) {
  comm::GossipSettings settings;
  settings.topology = comm::gossip_topology(topology);
  settings.codec = codec;
  return settings;
}

inline comm::GossipSettings directed() {
  comm::GossipSettings settings;
  settings.topology = {.kind = comm::TopologyKind::file,
                       .graphs = comm::parse_graphs(
                           "0 -> 1\n1 -> 2\n2 -> 3\n3 -> 0\n0 -> 2\nstep\n2 - 1\n3 -> 1\n0 -> 3"),
                       .text = "./directed"};
  return settings;
}

inline const comm::CodecChoice kTenPercent{comm::CodecId::top_k, 0.1};

/// The parameters of a small model on one rank, in lengths that no node divides. Codecs leave those
/// of 1 and 3 numbers alone.
class GossipModel {
 public:
  static constexpr std::size_t kLengths[] = {1, 1333, 3, 1250};

  GossipModel(comm::Communicator& comm, const comm::GossipSettings& settings,
              comm::GradientEvents* events = nullptr)
      : gossip(comm, settings, events), random_(static_cast<unsigned>(comm.rank().value)) {
    for (const std::size_t length : kLengths)
      values.emplace_back(length);
    for (std::size_t i = 0; i < values.size(); ++i)
      gossip.add("p" + std::to_string(i), values[i]);
  }

  /// A local step of training, at random but the same in each run.
  void move(std::uint64_t step, int rank) {
    random_.seed(static_cast<unsigned>(step * 1000 + static_cast<unsigned>(rank)));
    normal_.reset();
    for (GossipNumbers& each : values)
      for (float& number : each)
        number += normal_(random_);
  }

  GossipNumbers joined() const {
    GossipNumbers all;
    for (const GossipNumbers& each : values)
      all.insert(all.end(), each.begin(), each.end());
    return all;
  }

  std::vector<GossipNumbers> values;
  comm::Gossip gossip;

 private:
  std::mt19937 random_;
  std::normal_distribution<float> normal_;
};

inline std::size_t index_of_rank(const comm::Communicator& comm) {
  return static_cast<std::size_t>(comm.rank().value);
}

}  // namespace fastgpu::test
