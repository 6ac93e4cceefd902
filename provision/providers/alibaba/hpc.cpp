#include "provision/providers/alibaba/hpc.hpp"

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::alibaba {
namespace {

/// What follows "key=" up to the next space.
std::string word_after(std::string_view text, std::string_view key) {
  const std::string start = std::string(key) + "=";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (word.starts_with(start)) return std::string(word.substr(start.size()));
    at = end + 1;
  }
  return {};
}

}  // namespace

bool needs_hpc_cluster(std::string_view type) {
  return type.starts_with("ecs.scc");
}

std::string description_of(const cloud::Marks& marks) {
  return std::string(cloud::kClusterTag) + "=" + marks.cluster.value + " " +
         std::string(cloud::kNameTag) + "=" + marks.cluster_name + " " +
         std::string(cloud::kOwnerTag) + "=" + marks.owner;
}

cloud::Marks marks_in_description(std::string_view description) {
  return {.cluster = {word_after(description, cloud::kClusterTag)},
          .cluster_name = word_after(description, cloud::kNameTag),
          .owner = word_after(description, cloud::kOwnerTag)};
}

}  // namespace fastgpu::provision::alibaba
