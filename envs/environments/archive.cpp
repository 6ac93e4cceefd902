#include "envs/environments/archive.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "agent/protocol/environment.hpp"
#include "agent/protocol/manifest_line.hpp"
#include "base/counted.hpp"
#include "base/hex.hpp"
#include "base/names.hpp"
#include "base/quote.hpp"
#include "envs/environments/archive_file.hpp"
#include "transfer/paths.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;
using transfer::TarEntry;
using transfer::TarKind;

constexpr std::size_t kMostEntries = 4'000'000;
constexpr std::size_t kLargestManifest = 256UL << 20;
constexpr std::size_t kLargestDetail = 16UL << 20;
constexpr std::size_t kArchiveDigits = 12;
constexpr std::string_view kManifest = ".fastgpu/manifest";
constexpr std::string_view kLock = ".fastgpu/env.lock";
constexpr std::string_view kRun = ".fastgpu/run";

Error refused(const std::string& why) {
  return {ErrorKind::usage, why};
}

/// Returns the limit for files of the build that are not only compared, but read.
std::size_t most_kept_of(const std::string& path) {
  if (path == kManifest) return kLargestManifest;
  return path == kLock || path == kRun ? kLargestDetail : 0;
}

class Check {
 public:
  explicit Check(ArchiveFile& file) : entries_(file.entries()) {}

  EnvironmentArchive run() {
    while (const auto entry = entries_.next())
      take(*entry);
    check_manifest();
    read_details();
    check_links();
    return std::move(out_);
  }

 private:
  void take(const TarEntry& entry) {
    const std::string shown = printable(entry.path);
    if (!transfer::is_inner_path(entry.path))
      throw refused("its path '" + shown + "' leads out of it");
    const auto slash = entry.path.find('/');
    const bool is_top = slash == std::string::npos;
    if (top_.empty() && is_top && entry.kind == TarKind::directory) top_ = entry.path;
    if (top_.empty() || entry.path.substr(0, slash) != top_)
      throw refused("'" + shown + "' is not in the folder of one build");
    if (is_top && entry.kind != TarKind::directory)
      throw refused("'" + shown + "' is not a folder");
    if (is_top) return;
    const std::string path = entry.path.substr(slash + 1);
    if (const std::string parent = transfer::split_path(path).first;
        !parent.empty() && !directories_.contains(parent))
      throw refused("'" + shown + "' comes before its folder");
    if (lines_.size() >= kMostEntries)
      throw refused("it has more than " + counted(kMostEntries, "file"));
    if (!lines_.emplace(path, line_for(entry, path)).second)
      throw refused("'" + shown + "' occurs twice");
  }

  /// Returns a manifest's line for such a file.
  std::string line_for(const TarEntry& entry, const std::string& path) {
    constexpr std::uint32_t kModeBits = 07777;
    agent::ManifestEntry found{.mode = entry.mode & kModeBits, .size = entry.size, .path = path};
    switch (entry.kind) {
      case TarKind::directory:
        directories_.insert(path);
        found.kind = 'd';
        return line_of(found, "-");
      case TarKind::link:
        links_.emplace_back(path, entry.target);
        return agent::line_of({.kind = 'l', .path = path}, transfer::sha256_hex(entry.target));
      case TarKind::hard_link:
        return line_of_hard_link(entry, std::move(found));
      case TarKind::file:
        return line_of(found, sum_of_content(path));
      case TarKind::other:
        break;
    }
    throw refused("'" + printable(entry.path) + "' is not a file, folder or link");
  }

  std::string line_of_hard_link(const TarEntry& entry, agent::ManifestEntry found) {
    const std::string target =
        entry.target.starts_with(top_ + "/") ? entry.target.substr(top_.size() + 1) : "";
    const auto line = lines_.find(target);
    if (line == lines_.end() || !line->second.starts_with('f'))
      throw refused("'" + printable(entry.path) + "' links to a file that is not in it");
    out_.linked.insert(target);
    found.size = agent::size_in(line->second);
    return line_of(found, agent::sum_in(line->second));
  }

  std::string sum_of_content(const std::string& path) {
    const std::size_t most = most_kept_of(path);
    std::string* const kept = most == 0 ? nullptr : &details_[path];
    transfer::Sha256 sum;
    while (const std::size_t size = entries_.read(buffer_)) {
      const std::string_view piece(buffer_.data(), size);
      sum.add(piece);
      if (kept == nullptr) continue;
      if (kept->size() + size > most) throw refused(path + " in it is too large");
      kept->append(piece);
    }
    return hex(sum.finish());
  }

  /// Checks that the files and the manifest match exactly.
  void check_manifest() {
    if (!details_.contains(std::string(kManifest)))
      throw refused("it has no " + std::string(kManifest) +
                    ": it is not an archive of an environment, or it is incomplete");
    const std::string& text = details_.at(std::string(kManifest));
    out_.manifest = transfer::sha256_hex(text);
    lines_.erase(std::string(kManifest));
    for (const std::string& line : agent::Records(text, "its manifest").all("entry")) {
      const std::string path = agent::path_in(line);
      const auto found = lines_.find(path);
      if (found == lines_.end()) throw refused(printable(path) + " is in its manifest but missing");
      if (found->second != line) throw refused(printable(path) + " differs from its manifest");
      out_.size.count += agent::size_in(line);
      lines_.erase(found);
    }
    for (const auto& [path, line] : lines_) {
      if (!agent::is_cache(path)) throw refused(printable(path) + " is not in its manifest");
      out_.left_out.insert(path);
    }
  }

  const std::string& detail(std::string_view path) const {
    const auto found = details_.find(std::string(path));
    if (found == details_.end()) throw refused("it has no " + std::string(path));
    return found->second;
  }

  void read_details() {
    const std::string& lock = detail(kLock);
    out_.lock = parse_lock(lock, std::string(kLock) + " in it");
    agent::check_environment_name(out_.lock.spec.name);
    out_.version = transfer::sha256_hex(lock).substr(0, kArchiveDigits);
    if (top_ != out_.version)
      throw refused("its folder is " + printable(top_) + ", but its lock is that of " +
                    out_.version);
    out_.prefix = prefix_in(detail(kRun));
  }

  /// Returns the prefix; the run script contains it.
  std::string prefix_in(const std::string& run) const {
    constexpr std::string_view kBefore = "\n. ";
    const fs::path inner = fs::path(out_.lock.spec.name) / out_.version;
    const auto before = run.find(kBefore);
    const auto end = run.find("/" + inner.string() + "/");
    if (before != std::string::npos && end != std::string::npos && end > before + kBefore.size()) {
      std::string prefix = run.substr(before + kBefore.size(), end - before - kBefore.size());
      if (prefix.starts_with('\'')) prefix.erase(0, 1);
      const fs::path script = agent::details_of(fs::path(prefix) / inner) / "activate.sh";
      const bool is_place = prefix.starts_with('/') && transfer::is_inner_path(prefix.substr(1));
      if (is_place && run.find(". " + shell_quote(script.string()) + "\n") != std::string::npos)
        return prefix;
    }
    throw refused(std::string(kRun) + " in it does not name its prefix");
  }

  void check_links() const {
    const fs::path build =
        agent::EnvironmentPlaces{out_.prefix}.version(out_.lock.spec.name, out_.version);
    const bool has_nodes_python = out_.lock.spec.builder == Builder::uv && !archive_of(out_.lock);
    for (const auto& [path, target] : links_) {
      if (stays_inside(build, path, target)) continue;
      if (has_nodes_python && path == "bin/python" && target.starts_with('/')) continue;
      throw refused("the link " + printable(path) + " leads out of it, to " + printable(target));
    }
  }

  transfer::TarReader& entries_;
  EnvironmentArchive out_;
  std::string top_;  // The folder that contains everything.
  std::unordered_set<std::string> directories_;
  std::unordered_map<std::string, std::string> lines_;    // By path.
  std::unordered_map<std::string, std::string> details_;  // Contents by path.
  std::vector<std::pair<std::string, std::string>> links_;
  std::string buffer_ = std::string(256UL * 1024, '\0');
};

bool is_up(const fs::path& name) {
  return name == "..";
}

}  // namespace

EnvironmentArchive check_archive(const fs::path& file, const Cancel& cancel) try {
  ArchiveFile archive(file, cancel);
  EnvironmentArchive out = Check(archive).run();
  out.file = file;
  return out;
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  const bool is_content = e.kind() == ErrorKind::remote || e.kind() == ErrorKind::denied;
  throw Error(is_content ? ErrorKind::usage : e.kind(), file.string() + ": " + e.what());
}

void check_prefix(const EnvironmentArchive& archive, const std::string& prefix) {
  if (archive.prefix == prefix) return;
  throw Error(ErrorKind::usage, archive.file.string() + " was packed for " + archive.prefix +
                                    ", but environments are in " + prefix +
                                    " on the nodes: unpack it with --prefix " +
                                    shell_quote(archive.prefix));
}

bool stays_inside(const fs::path& build, const std::string& path, const std::string& target) {
  const fs::path to(target);
  auto name = to.begin();
  if (to.is_absolute()) {
    const std::string around = build.parent_path().string() + "/";
    return target.starts_with(around) && std::none_of(name, to.end(), is_up);
  }
  auto depth = std::ranges::count(path, '/');
  for (; name != to.end() && is_up(*name); ++name)
    --depth;
  // Behind a name that may be a link, the target of ".." is unknown.
  return !target.empty() && depth >= 0 && std::none_of(name, to.end(), is_up);
}

}  // namespace fastgpu::envs
