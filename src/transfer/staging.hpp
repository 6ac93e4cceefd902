// A directory beside the destination where a copy is put together before it becomes visible.
#pragma once

#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"
#include "transfer/resume.hpp"

namespace fastgpu::transfer {

/// Lives as long as this object, which holds a lock on it: a staging directory without a lock was
/// left by a copy that was killed, and the next one in the same place removes it. One with a key
/// may outlive both for a day: the copy with that key goes on with what is in it.
class Staging {
 public:
  /// Makes one inside `parent`, or with a key takes up the one that was kept. Two copies with the
  /// same key at once are two. A directory with that name that others could have changed is left
  /// alone, and nothing is kept then. Throws denied, capacity or local.
  explicit Staging(const std::filesystem::path& parent, const std::string& key = {});
  /// The same in an open directory, which messages call `shown`.
  Staging(UniqueFd parent, const std::string& shown, const std::string& key);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  /// Where the copy is put together.
  int fd() const noexcept { return tree_.get(); }
  int parent_fd() const noexcept { return parent_.get(); }

  /// How far it is: whole files, and the path of the one that is coming in. Remembered until this
  /// machine is booted again, where there is a key.
  void note(std::uint64_t files, const std::string& path);
  Position position() const;

  /// What is there is to stay for the copy with this key; without one it goes.
  void keep() noexcept { is_kept_ = !key_.empty(); }
  /// Away with what is there.
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
  UniqueFd notes_;  ///< Once something was noted.
  bool is_kept_ = false;
};

/// How far the copy with that key is in `parent`; the start where nothing of it is kept.
Position kept_position(const std::filesystem::path& parent, const std::string& key);

/// Away with all copies that are kept in `parent`, but for those that go on just now. Best effort.
void drop_kept_copies(const std::filesystem::path& parent) noexcept;

}  // namespace fastgpu::transfer
