#include "agent/environments/used_prefixes.hpp"

#include "agent/files/disk.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "prefix";

/// Returns the path of the list, which goes with the cluster's directory.
fs::path list_of(const std::string& cluster) {
  if (!is_hex(cluster))
    throw Error(ErrorKind::usage, "'" + printable(cluster) + "' is not a cluster's identity");
  return below_home(".fastgpu/clusters") / cluster / "prefixes";
}

std::vector<std::string> listed(const fs::path& list) {
  return Records(read_file(list).value_or(""), "the list of prefixes").all(kPrefix);
}

}  // namespace

void note_used_prefix(const std::string& cluster, const EnvironmentPlaces& places) {
  const fs::path list = list_of(cluster);
  std::vector<std::string> prefixes = listed(list);
  if (contains(prefixes, places.prefix.string())) return;
  prefixes.push_back(places.prefix.string());
  Records records;
  for (const std::string& prefix : prefixes)
    records.add(kPrefix, prefix);
  make_private_directory(list.parent_path());
  write_atomically(list, records.text());
}

std::vector<std::string> used_prefixes(const std::string& cluster) {
  std::vector<std::string> prefixes = listed(list_of(cluster));
  std::error_code failure;
  std::erase_if(prefixes, [&](const std::string& prefix) {
    return !fs::exists(EnvironmentPlaces{prefix}.own(), failure);
  });
  return prefixes;
}

}  // namespace fastgpu::agent
