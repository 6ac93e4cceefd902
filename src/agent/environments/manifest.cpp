#include "agent/environments/manifest.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "agent/environments/checked.hpp"
#include "agent/files/disk.hpp"
#include "agent/protocol/manifest_line.hpp"
#include "base/hex.hpp"
#include "base/parallel.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestManifest = 256UL << 20;
constexpr std::size_t kMostNamed = 10;
constexpr mode_t kModeBits = 07777;

std::size_t width() {
  constexpr std::size_t kMost = 8;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMost);
}

std::string sum_at(const fs::path& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) throw system_error("opening " + path.string(), errno);
  return hex(transfer::sum_of_file(file.get(), path.string()));
}

/// Returns the status; absent for a missing file.
std::optional<struct stat> status_of(const fs::path& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw system_error("looking at " + file.string(), errno);
}

ManifestEntry entry_of(const std::string& path, const struct stat& status) {
  ManifestEntry entry{.mode = status.st_mode & kModeBits, .path = path};
  if (S_ISLNK(status.st_mode)) {
    entry.kind = 'l';
    entry.mode = 0;
  } else if (S_ISDIR(status.st_mode)) {
    entry.kind = 'd';
  } else {
    entry.size = static_cast<std::uint64_t>(status.st_size);
  }
  return entry;
}

ManifestEntry look_at(const fs::path& root, const std::string& path) {
  const auto status = status_of(root / path);
  if (!status) throw system_error("looking at " + (root / path).string(), ENOENT);
  return entry_of(path, *status);
}

std::string sum_of(const fs::path& root, const ManifestEntry& entry) {
  if (entry.kind == 'd') return "-";
  if (entry.kind == 'l') return transfer::sha256_hex(fs::read_symlink(root / entry.path).string());
  return sum_at(root / entry.path);
}

std::vector<std::string> paths_below(const fs::path& root) {
  std::vector<std::string> paths;
  const std::string own = fs::relative(manifest_of(root), root).string();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    std::string path = entry.path().string().substr(root.string().size() + 1);
    if (path != own) paths.push_back(std::move(path));
  }
  std::ranges::sort(paths);
  return paths;
}

std::string sum_of(const fs::path& root, const ManifestEntry& entry, const KnownSums& known) {
  const auto found = entry.kind == 'f' ? known.find(entry.path) : known.end();
  return found == known.end() ? sum_of(root, entry) : hex(found->second);
}

/// Returns true if kind, mode and size are those in the line.
bool has_shape(const ManifestEntry& found, const std::string& line) {
  // The text before the checksum. The path comes after it.
  const std::string front = line_of(found, "");
  return line.starts_with(front.substr(0, front.size() - found.path.size() - 1));
}

/// Returns how the file in `line` is damaged; "" if it is intact.
std::string damage(const fs::path& root, const std::string& line, const ReceivedFiles& received) {
  const std::string path = path_in(line);
  if (const auto found = received.find(path); found != received.end()) {
    const auto& [name, mode, size, sum] = found->second;
    const ManifestEntry entry{.mode = mode, .size = size, .path = path};
    return line_of(entry, hex(sum)) == line ? "" : path + ": has another content";
  }
  const auto status = status_of(root / path);
  if (!status) return path + ": is missing";
  const ManifestEntry found = entry_of(path, *status);
  if (!has_shape(found, line)) return path + ": has another size, mode or kind";
  return line_of(found, sum_of(root, found)) == line ? "" : path + ": has another content";
}

/// Returns the files that are not in the manifest.
std::vector<std::string> added(const fs::path& root, const std::vector<std::string>& lines) {
  std::vector<std::string> known;
  std::ranges::transform(lines, std::back_inserter(known), path_in);
  std::ranges::sort(known);
  std::vector<std::string> fresh;
  std::ranges::set_difference(paths_below(root), known, std::back_inserter(fresh));
  std::erase_if(fresh, is_cache);
  return fresh;
}

/// Returns the lines of the manifest; empty if it is missing.
std::vector<std::string> lines_of(const fs::path& version) {
  const auto text = read_file(manifest_of(version), kLargestManifest);
  return text ? Records(*text, "the manifest").all("entry") : std::vector<std::string>();
}

/// Returns the manifest lines of the files that are identical in both builds.
std::vector<std::string> lines_in_both(const fs::path& version, const fs::path& other) {
  auto lines = lines_of(version);
  auto others = lines_of(other);
  std::ranges::sort(others);
  std::erase_if(lines, [&](const std::string& line) {
    return !line.starts_with('f') || !std::ranges::binary_search(others, line);
  });
  return lines;
}

std::string sum_of_text(const fs::path& path) {
  const auto text = read_file(path, kLargestManifest);
  return text ? transfer::sha256_hex(*text) : "";
}

}  // namespace

std::string write_manifest(const fs::path& version, const KnownSums& known) {
  const auto paths = paths_below(version);
  const auto lines =
      parallel_map(std::span<const std::string>(paths), width(), [&](const auto& path) {
        const ManifestEntry entry = look_at(version, path);
        return line_of(entry, sum_of(version, entry, known));
      });
  Records records;
  for (const auto& line : lines)
    records.add("entry", line.value());
  const std::string text = records.text();
  write_atomically(manifest_of(version), text, 0644);
  return transfer::sha256_hex(text);
}

std::string manifest_sum(const fs::path& version) {
  return sum_of_text(manifest_of(version));
}

std::string spec_sum(const fs::path& version) {
  return sum_of_text(details_of(version) / "env.yaml");
}

std::uint64_t build_bytes(const fs::path& version) {
  const auto text = read_file(manifest_of(version), kLargestManifest);
  if (!text) return 0;
  std::uint64_t bytes = 0;
  for (const std::string& line : Records(*text, "the manifest").all("entry"))
    bytes += size_in(line);
  return bytes;
}

KnownSums files_in_both(const fs::path& version, const fs::path& other) {
  KnownSums both;
  for (const std::string& line : lines_in_both(version, other))
    if (const auto sum = transfer::parse_digest(sum_in(line))) both.emplace(path_in(line), *sum);
  return both;
}

Manifest::Manifest(fs::path version)
    : version_(std::move(version)), was_checked_(was_checked(version_, manifest_sum(version_))) {
  for (std::string& line : lines_of(version_))
    if (line.starts_with('f')) {
      std::string path = path_in(line);
      lines_.emplace(std::move(path), std::move(line));
    }
}

Manifest::Sums Manifest::sums_if_intact(std::span<const std::string> paths) const {
  const auto results = parallel_map(paths, width(), [&](const std::string& path) {
    const auto found = lines_.find(path);
    if (found == lines_.end()) return std::optional<transfer::Digest>();
    const auto status = status_of(version_ / path);
    if (const auto sum = status ? sum_if_untouched(path, *status) : std::nullopt) return sum;
    const bool is_intact = damage(version_, found->second, {}).empty();
    return is_intact ? transfer::parse_digest(sum_in(found->second)) : std::nullopt;
  });
  Sums sums;
  for (const auto& sum : results)
    sums.push_back(sum.ok() ? sum.value() : std::nullopt);
  return sums;
}

std::optional<transfer::Digest> Manifest::sum_if_untouched(const std::string& path,
                                                           const struct stat& status) const {
  const auto found = was_checked_ && has_build_time(status) ? lines_.find(path) : lines_.end();
  if (found == lines_.end() || !has_shape(entry_of(path, status), found->second))
    return std::nullopt;
  return transfer::parse_digest(sum_in(found->second));
}

std::vector<std::string> Manifest::paths_from(const std::string& start) const {
  std::vector<std::string> paths;
  for (auto at = lines_.lower_bound(start); at != lines_.end() && at->first.starts_with(start);
       ++at)
    paths.push_back(at->first);
  return paths;
}

std::uint64_t bytes_in_both(const fs::path& version, const fs::path& other) {
  std::uint64_t bytes = 0;
  for (const std::string& line : lines_in_both(version, other))
    bytes += size_in(line);
  return bytes;
}

VerifyAnswer verify_manifest(const fs::path& version, const ReceivedFiles& received) {
  const auto text = read_file(manifest_of(version), kLargestManifest);
  if (!text)
    throw Error(ErrorKind::not_found, version.string() + " has no manifest: it is not complete");
  const auto lines = Records(*text, "the manifest").all("entry");
  const auto found =
      parallel_map(std::span<const std::string>(lines), width(),
                   [&](const auto& line) { return damage(version, line, received); });
  VerifyAnswer answer{
      .manifest = transfer::sha256_hex(*text), .files = lines.size(), .damaged = {}};
  for (const auto& one : found) {
    const std::string wrong = one.ok() ? one.value() : one.error().what();
    if (!wrong.empty()) answer.damaged.push_back(wrong);
  }
  for (const std::string& path : added(version, lines))
    answer.damaged.push_back(path + ": was added");
  answer.damaged.resize(std::min(answer.damaged.size(), kMostNamed));
  return answer;
}

}  // namespace fastgpu::agent
