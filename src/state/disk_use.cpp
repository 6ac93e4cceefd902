#include "state/disk_use.hpp"

#include <fts.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/c_handle.hpp"
#include "base/error.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMuchRoom = 10'000'000'000;
constexpr std::uint64_t kBlock = 512;  // The unit of stat's block counts.

void close(FTS* walk) noexcept {
  ::fts_close(walk);
}

class Measurement {
 public:
  Measurement(const fs::path& path, std::span<const KindOfFolder> kinds)
      : name_(path.string()), kinds_(kinds), use_{path, {}, std::vector<Bytes>(kinds.size())} {}

  FolderUse all(const Cancel& cancel) {
    std::array<char*, 2> paths = {name_.data(), nullptr};
    const CHandle<FTS, close> walk(
        ::fts_open(paths.data(), FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, nullptr));
    while (const FTSENT* const entry = walk ? ::fts_read(walk.get()) : nullptr) {
      cancel.check();
      add(*entry);
    }
    return std::move(use_);
  }

 private:
  void add(const FTSENT& entry) {
    switch (entry.fts_info) {
      case FTS_DP:
        if (entry.fts_level == level_) kind_.reset();
        return;
      case FTS_NS:
      case FTS_ERR:
      case FTS_DNR:
        use_.is_whole = false;
        return;
      case FTS_D:
        enter(entry);
        break;
      default:
        break;
    }
    const Bytes size = size_of(*entry.fts_statp);
    use_.size.count += size.count;
    if (kind_) use_.parts[*kind_].count += size.count;
  }

  /// Handles the entry into a directory. Only the outermost folder of a kind counts.
  void enter(const FTSENT& entry) {
    if (kind_ || entry.fts_level < 2) return;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if (entry.fts_name != kinds_[i].name || entry.fts_parent->fts_name != kinds_[i].parent)
        continue;
      kind_ = i;
      level_ = entry.fts_level;
    }
  }

  Bytes size_of(const struct stat& status) {
    const bool is_shared = status.st_nlink > 1 && !S_ISDIR(status.st_mode);
    if (is_shared && !seen_.emplace(status.st_dev, status.st_ino).second) return {};
    return {static_cast<std::uint64_t>(status.st_blocks) * kBlock};
  }

  std::string name_;
  std::span<const KindOfFolder> kinds_;
  FolderUse use_;
  std::set<std::pair<dev_t, ino_t>> seen_;  ///< Files with several names.
  std::optional<std::size_t> kind_;         ///< The kind of the folder that the walk is in.
  int level_ = 0;                           ///< The level of that folder.
};

}  // namespace

Room room_at(const fs::path& path) {
  struct statvfs system {};
  if (::statvfs(path.c_str(), &system) != 0)
    throw system_error("looking at " + path.string(), errno);
  const auto bytes = [&](fsblkcnt_t blocks) {
    return Bytes{static_cast<std::uint64_t>(blocks) * system.f_frsize};
  };
  return {bytes(system.f_bavail), bytes(system.f_blocks)};
}

bool is_nearly_full(const Room& room) {
  return room.free.count < room.total.count / 20 && room.free.count < kMuchRoom;
}

FolderUse measure(const fs::path& path, std::span<const KindOfFolder> kinds, const Cancel& cancel) {
  return Measurement(path, kinds).all(cancel);
}

}  // namespace fastgpu::state
