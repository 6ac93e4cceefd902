#include "comm/gradients/tuner_cache.hpp"

#include <array>
#include <cstdio>
#include <string>

#include "comm/fusion/fingerprint.hpp"
#include "comm/gradients/gradient_settings.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm {
namespace {

constexpr int kMostPieceLog2 = 30;

}  // namespace

std::filesystem::path cache_file(const std::filesystem::path& folder, const TunedFor& what) {
  Fingerprint all;
  all.add(what.table).add(static_cast<std::uint64_t>(what.flows));
  all.add(static_cast<std::uint64_t>(what.device)).add(what.wire);
  for (const ElementType type : what.on_wire)
    all.add(static_cast<std::uint64_t>(type));
  for (const auto& node : what.topology.nodes)
    all.add(std::uint64_t{node.size()});
  std::array<char, 17> hash{};
  std::snprintf(hash.data(), hash.size(), "%016llx", static_cast<unsigned long long>(all.value()));
  return folder / (std::string(hash.data()) + "-" + std::to_string(what.topology.ranks()) +
                   "-ranks-" + std::to_string(what.topology.nodes.size()) + "-nodes.json");
}

bool is_possible(const TunerSetting& setting) noexcept {
  return setting.flows >= 1 && setting.flows <= kMostFlows && setting.streams >= 1 &&
         setting.streams <= kMostStreams && setting.bucket.count > 0 &&
         setting.plan.piece_log2 <= kMostPieceLog2;
}

}  // namespace fastgpu::comm
