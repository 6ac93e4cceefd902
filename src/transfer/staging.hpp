// The staging directory, beside the destination, in which a copy is assembled before it becomes
// visible.
#pragma once

#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"
#include "transfer/resume.hpp"

namespace fastgpu::transfer {

/// A staging directory. It lives as long as this object and is locked by it. A directory without a
/// lock is left from a killed copy and is removed by the next copy in the same place. A directory
/// with a key may be kept for a day: a later copy with the same key resumes from its content.
class Staging {
 public:
  /// Creates a staging directory inside `parent`, or takes over the one that was kept for `key`.
  /// Two simultaneous copies with the same key get two directories. If other users could have
  /// changed the kept directory, it is left alone, and this copy is not kept either. Throws denied,
  /// capacity or local.
  explicit Staging(const std::filesystem::path& parent, const std::string& key = {});
  /// Creates the staging directory in an open directory, which messages call `shown`.
  Staging(UniqueFd parent, const std::string& shown, const std::string& key);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  /// Returns the directory in which the copy is assembled.
  int fd() const noexcept { return tree_.get(); }
  int parent_fd() const noexcept { return parent_.get(); }

  /// Records the position: the number of complete files, and the path of the file in transfer. With
  /// a key, it is kept until this machine reboots.
  void note(std::uint64_t files, const std::string& path);
  Position position() const;

  /// Keeps the content for the next copy with this key. Without a key it is removed.
  void keep() noexcept { is_kept_ = !key_.empty(); }
  /// Removes the content.
  void clear();

 private:
  bool make_locked(const std::string& name);
  void make_unnamed();
  bool take_up();
  void open_tree();

  UniqueFd parent_;
  std::string shown_;
  std::string key_;
  std::string name_;
  UniqueFd directory_;
  UniqueFd tree_;
  UniqueFd notes_;  ///< Open once the first position was recorded.
  bool is_kept_ = false;
};

/// Returns the position of the kept copy with this key in `parent`; the start if nothing is kept.
Position kept_position(const std::filesystem::path& parent, const std::string& key);

/// Removes all kept copies in `parent`, except for those in progress. Best effort.
void drop_kept_copies(const std::filesystem::path& parent) noexcept;

}  // namespace fastgpu::transfer
