#include "agent/environments/earlier_packages.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent/environments/manifest.hpp"
#include "agent/environments/modules.hpp"
#include "agent/environments/place.hpp"
#include "agent/environments/pylock.hpp"
#include "agent/environments/wheel_record.hpp"
#include "agent/files/disk.hpp"
#include "agent/protocol/package_name.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestText = 64UL << 20;

std::string text_of(const fs::path& file) {
  return read_file(file, kLargestText).value_or("");
}

/// A file for the new build.
struct TakenFile {
  std::string path;
  transfer::Digest sum{};                ///< The checksum of the file in the earlier build.
  std::optional<std::string> content{};  ///< Absent if the file is linked to the earlier one.
};

/// A complete earlier build.
class EarlierBuild {
 public:
  EarlierBuild(fs::path version, fs::path packages)
      : version_(std::move(version)), packages_(std::move(packages)), manifest_(version_) {
    for (LockedPackage& one : packages_in(text_of(details_of(version_) / "pylock.toml")))
      sums_[one.name] = std::move(one.sums);
    find_records();
  }

  const fs::path& version() const { return version_; }

  /// Returns the files of the package for the build in `fresh`. Empty if this build has another
  /// version of it, or if a file was changed.
  std::vector<TakenFile> files_of(const LockedPackage& package, const fs::path& fresh) const {
    const auto artefacts = sums_.find(package.name);
    const auto record = records_.find(normalized_package_name(package.name));
    if (artefacts == sums_.end() || artefacts->second != package.sums || record == records_.end())
      return {};
    auto recorded = parse_wheel_record(text_of(version_ / record->second));
    if (!recorded) return {};
    const auto sums_found = sums_if_intact(*recorded, record->second);
    if (sums_found.empty()) return {};
    std::vector<TakenFile> files;
    std::vector<std::string> bytecode;
    bool is_moved = false;
    for (std::size_t i = 0; i < recorded->size(); ++i) {
      RecordedFile& one = recorded->at(i);
      const std::string path = path_of(one);
      if (path == record->second) continue;
      files.push_back({.path = path, .sum = sums_found[i], .content = moved(path, fresh)});
      if (const auto& content = files.back().content) {
        // It contains the build's path in a form that cannot be replaced.
        if (is_named_in(*content)) return {};
        one = {
            .path = one.path, .hash = hash_of(*content), .size = std::to_string(content->size())};
        is_moved = true;
      }
      add_bytecode(path, bytecode);
    }
    files.push_back({.path = record->second, .sum = sums_found.back()});
    if (is_moved) files.back().content = to_text(*recorded);
    const auto sums = manifest_.sums_if_intact(bytecode);
    for (std::size_t i = 0; i < bytecode.size(); ++i)
      if (sums[i]) files.push_back({.path = bytecode[i], .sum = *sums[i]});
    return files;
  }

 private:
  /// Finds the RECORD of each package by the package's name.
  void find_records() {
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(version_ / packages_, none)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".dist-info"))
        records_[normalized_package_name(name.substr(0, name.find('-')))] =
            packages_ / name / "RECORD";
    }
  }

  static std::string hash_of(const std::string& content) {
    transfer::Sha256 sum;
    sum.add(content);
    return wheel_hash(sum.finish());
  }

  /// Returns the path relative to the build.
  std::string path_of(const RecordedFile& file) const {
    return (packages_ / file.path).lexically_normal().string();
  }

  /// Returns the checksums of the files, and at the end that of RECORD itself; empty if a file was
  /// changed.
  std::vector<transfer::Digest> sums_if_intact(const std::vector<RecordedFile>& files,
                                               const std::string& record) const {
    std::vector<std::string> paths;
    for (const RecordedFile& file : files)
      paths.push_back(path_of(file));
    paths.push_back(record);
    std::vector<transfer::Digest> sums;
    for (const auto& sum : manifest_.sums_if_intact(paths)) {
      if (!sum) return {};
      sums.push_back(*sum);
    }
    for (std::size_t i = 0; i < files.size(); ++i)
      if (!files[i].hash.empty() && files[i].hash != wheel_hash(sums[i])) return {};
    return sums;
  }

  /// Returns true if the text contains the directory of this build, in any form.
  bool is_named_in(const std::string& text) const {
    return text.find("/" + version_.filename().string() + "/") != text.npos;
  }

  /// Returns the text of a program that contains its build's directory, changed for `fresh`; absent
  /// for other files.
  std::optional<std::string> moved(const std::string& path, const fs::path& fresh) const {
    if (!path.starts_with("bin/")) return std::nullopt;
    std::string text = text_of(version_ / path);
    if (!text.starts_with("#!") || !is_named_in(text)) return std::nullopt;
    const std::string old = version_.string() + "/";
    for (auto at = text.find(old); at != text.npos; at = text.find(old, at))
      text.replace(at, old.size(), fresh.string() + "/");
    return text;
  }

  /// Adds the bytecode files of the module at `path`.
  void add_bytecode(const fs::path& path, std::vector<std::string>& bytecode) const {
    if (path.extension() != ".py") return;
    const fs::path start = path.parent_path() / "__pycache__" / (path.stem().string() + ".");
    std::ranges::move(manifest_.paths_from(start.string()), std::back_inserter(bytecode));
  }

  fs::path version_;
  fs::path packages_;  // Relative to the build.
  Manifest manifest_;
  std::map<std::string, std::vector<std::string>> sums_;  // The sums of the artefacts, by package.
  std::map<std::string, std::string> records_;            // Relative to the build.
};

/// Returns the builds beside `version`, beginning with the current one.
std::vector<EarlierBuild> builds_beside(const fs::path& version, const fs::path& packages) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(version.parent_path()))
    if (!entry.is_symlink() && entry.path() != version && fs::exists(manifest_of(entry.path())) &&
        text_of(details_of(entry.path()) / "env.lock").find("\n  post_install:") ==
            std::string::npos)
      found.push_back(entry.path());
  const std::string current = link_target(version.parent_path() / "current");
  std::ranges::partition(found, [&](const fs::path& one) { return one.filename() == current; });
  std::vector<EarlierBuild> builds;
  for (const fs::path& one : found)
    builds.emplace_back(one, packages);
  return builds;
}

/// Puts one file into the new build. Keeps a file that another package has put there, as an
/// installation of both would. Returns true if the file is linked to the earlier build's.
bool put(const TakenFile& file, const fs::path& from, const fs::path& to) {
  const fs::path source = from / file.path;
  const fs::path target = to / file.path;
  if (file.content) {
    fs::create_directories(target.parent_path());
    write_atomically(target, *file.content,
                     static_cast<unsigned>(fs::status(source).permissions()));
    return false;
  }
  std::error_code failure;
  fs::create_hard_link(source, target, failure);
  if (failure == std::errc::no_such_file_or_directory) {
    fs::create_directories(target.parent_path());
    fs::create_hard_link(source, target, failure);
  }
  if (failure && failure != std::errc::file_exists) fs::copy_file(source, target);
  return !failure;
}

}  // namespace

TakenPackages take_earlier_packages(const BuildRequest& request, const fs::path& version,
                                    Listener& listener) {
  if (!request.post_install.empty()) return {};
  const auto builds = builds_beside(version, packages_of(request.python_version));
  TakenPackages taken;
  if (builds.empty()) return taken;
  listener.tell("looking at the packages that are there");
  for (const LockedPackage& package : packages_in(request.solution)) {
    listener.gone().check();
    for (const EarlierBuild& build : builds) {
      const auto files = build.files_of(package, version);
      if (files.empty()) continue;
      for (const TakenFile& file : files)
        if (put(file, build.version(), version)) taken.sums.emplace(file.path, file.sum);
      taken.names.insert(package.name);
      break;
    }
  }
  return taken;
}

}  // namespace fastgpu::agent
