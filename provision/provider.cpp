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

std::string to_text(const Orphan& orphan) {
  const auto word = [&]() -> std::string {
    switch (orphan.kind) {
      case Orphan::Kind::instance:
        return "instance";
      case Orphan::Kind::network:
        return "network";
      case Orphan::Kind::image:
        return "image";
      case Orphan::Kind::folder:
        return "folder";
      case Orphan::Kind::process:
        return "process";
      case Orphan::Kind::bridge:
        return "bridge";
    }
    throw Error(ErrorKind::internal, "an orphan has an unknown kind");
  };
  return word() + " " + (orphan.region.empty() ? "" : orphan.region + "/") + orphan.id;
}

}  // namespace fastgpu::provision
