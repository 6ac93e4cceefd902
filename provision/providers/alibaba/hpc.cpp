#include "provision/providers/alibaba/hpc.hpp"

#include <algorithm>

#include "provision/cloud/cloud.hpp"

namespace fastgpu::provision::alibaba {
namespace {

/// Returns the text after "key=", up to the next space.
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

bool names_family_of(std::string_view families, std::string_view type) {
  constexpr std::string_view kInNames =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  const std::string_view family = type.substr(0, type.rfind('.'));
  for (std::size_t at = 0; at < families.size();) {
    const std::size_t begin = families.find_first_of(kInNames, at);
    if (begin == families.npos) return false;
    const std::size_t end = std::min(families.find_first_not_of(kInNames, begin), families.size());
    if (families.substr(begin, end - begin) == family) return true;
    at = end;
  }
  return false;
}

std::string description_of(const cloud::OwnerTags& marks) {
  return std::string(cloud::kClusterTag) + "=" + marks.cluster.value + " " +
         std::string(cloud::kNameTag) + "=" + marks.cluster_name + " " +
         std::string(cloud::kOwnerTag) + "=" + marks.owner;
}

cloud::OwnerTags marks_in_description(std::string_view description) {
  return {.cluster = {word_after(description, cloud::kClusterTag)},
          .cluster_name = word_after(description, cloud::kNameTag),
          .owner = word_after(description, cloud::kOwnerTag)};
}

}  // namespace fastgpu::provision::alibaba
