#include "provision/provider.hpp"

namespace fastgpu::provision {

std::vector<int> Provider::new_indexes(const state::Cluster& /*cluster*/,
                                       const std::set<int>& taken, int count) const {
  std::vector<int> indexes;
  for (int index = 0; static_cast<int>(indexes.size()) < count; ++index)
    if (!taken.contains(index)) indexes.push_back(index);
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
