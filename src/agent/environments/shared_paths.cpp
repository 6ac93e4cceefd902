#include "agent/environments/shared_paths.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "agent/environments/wheel_record.hpp"
#include "agent/files/disk.hpp"
#include "agent/protocol/package_name.hpp"
#include "base/counted.hpp"
#include "base/join.hpp"
#include "base/names.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestRecord = 64UL << 20;
constexpr std::string_view kInfo = ".dist-info";

/// Returns the RECORD of each installed package, by the package's normalised name.
std::map<std::string, std::vector<RecordedFile>> records_in(const fs::path& packages) {
  std::map<std::string, std::vector<RecordedFile>> records;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(packages, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kInfo)) continue;
    const auto text = read_file(entry.path() / "RECORD", kLargestRecord);
    auto files = text ? parse_wheel_record(*text) : std::nullopt;
    if (files) records[normalized_package_name(name.substr(0, name.find('-')))] = std::move(*files);
  }
  return records;
}

std::string path_of(const fs::path& packages, const RecordedFile& file) {
  return (packages / file.path).lexically_normal().string();
}

}  // namespace

std::vector<SharedPath> shared_paths(const fs::path& version, const fs::path& packages) {
  // The checksums by path and package.
  std::map<std::string, std::map<std::string, std::string>> owners;
  for (const auto& [name, files] : records_in(version / packages))
    for (const RecordedFile& file : files)
      if (!file.hash.empty()) owners[path_of(packages, file)][name] = file.hash;
  std::vector<SharedPath> shared;
  for (const auto& [path, sums] : owners) {
    std::set<std::string> different;
    SharedPath one{.path = path, .packages = {}};
    for (const auto& [name, sum] : sums) {
      different.insert(sum);
      one.packages.push_back(name);
    }
    if (different.size() > 1) shared.push_back(std::move(one));
  }
  return shared;
}

std::vector<std::string> owners_of(const std::vector<SharedPath>& shared) {
  std::set<std::string> names;
  for (const SharedPath& one : shared)
    names.insert(one.packages.begin(), one.packages.end());
  return {names.begin(), names.end()};
}

std::vector<std::string> modules_of(const fs::path& version, const fs::path& packages,
                                    const std::vector<std::string>& names) {
  std::set<std::string> modules;
  const auto records = records_in(version / packages);
  for (const std::string& name : names) {
    const auto record = records.find(name);
    if (record == records.end()) continue;
    for (const RecordedFile& file : record->second)
      if (file.path.ends_with(".py")) modules.insert(path_of(packages, file));
  }
  return {modules.begin(), modules.end()};
}

std::vector<std::string> describe(const std::vector<SharedPath>& shared) {
  std::map<std::vector<std::string>, std::vector<std::string>> paths;
  for (const SharedPath& one : shared)
    paths[one.packages].push_back(one.path);
  std::vector<std::string> out;
  for (const auto& [packages, of_them] : paths)
    out.push_back("packages " + joined(packages, " and ") + " have " +
                  (of_them.size() == 1 ? "a file" : counted(of_them.size(), "file")) +
                  " in common with different content" +
                  (of_them.size() == 1 ? " (" : ", such as ") + printable(of_them.front(), 200) +
                  (of_them.size() == 1 ? ")" : "") + ": that of " + packages.back() + " is used");
  return out;
}

}  // namespace fastgpu::agent
