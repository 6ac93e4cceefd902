#include "provision/provider.hpp"

#include <numeric>

namespace fastgpu::provision {

std::vector<int> Provider::new_indexes(const state::Cluster& /*cluster*/,
                                       std::span<const state::Node> /*present*/, int next,
                                       int count) const {
  std::vector<int> indexes(static_cast<std::size_t>(count));
  std::iota(indexes.begin(), indexes.end(), next);
  return indexes;
}

std::string Provider::difference(const state::Cluster& there, const std::string& wanted) const {
  return there.spec_json == wanted ? "" : "in another form";
}

}  // namespace fastgpu::provision
