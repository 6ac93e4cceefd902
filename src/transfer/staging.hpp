// A directory beside the destination where a copy is put together before it becomes visible.
#pragma once

#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"
#include "transfer/resume.hpp"

namespace fastgpu::transfer {

/// A staging directory, which lives as long as this object and is locked by it. One without a lock
/// is a leftover of a killed copy; the next copy in the same place removes it. One with a key may
/// outlive both for a day: the copy with that key resumes from its content.
class Staging {
 public:
  /// Makes a staging directory inside `parent`, or with a key takes up the one that was kept. Two
  /// copies with the same key at once get two directories. A directory with that name that others
  /// could have changed is left alone, and nothing is kept then. Throws denied, capacity or local.
  explicit Staging(const std::filesystem::path& parent, const std::string& key = {});
  /// Stages in an open directory, which messages call `shown`.
  Staging(UniqueFd parent, const std::string& shown, const std::string& key);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  /// Returns the directory in which the copy is put together.
  int fd() const noexcept { return tree_.get(); }
  int parent_fd() const noexcept { return parent_.get(); }

  /// Records the position: whole files, and the path of the file in transfer. With a key it is kept
  /// until this machine reboots.
  void note(std::uint64_t files, const std::string& path);
  Position position() const;

  /// Keeps the content for the copy with this key; without a key it is removed.
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
  UniqueFd notes_;  ///< Open after the first note.
  bool is_kept_ = false;
};

/// Returns the position of the copy with that key in `parent`; the start if nothing of it is kept.
Position kept_position(const std::filesystem::path& parent, const std::string& key);

/// Removes all copies that are kept in `parent`, but for those in progress. Best effort.
void drop_kept_copies(const std::filesystem::path& parent) noexcept;

}  // namespace fastgpu::transfer
