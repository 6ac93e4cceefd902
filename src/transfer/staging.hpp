// A directory beside the destination where a copy is put together before it becomes visible.
#pragma once

#include <filesystem>
#include <string>

#include "base/unique_fd.hpp"

namespace fastgpu::transfer {

/// Lives as long as this object, which holds a lock on it: a staging directory without a lock was
/// left by a copy that was killed, and the next one in the same place removes it.
class Staging {
 public:
  /// Makes one inside `parent`. Throws denied, capacity or local.
  explicit Staging(const std::filesystem::path& parent);
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  int fd() const noexcept { return directory_.get(); }
  int parent_fd() const noexcept { return parent_.get(); }

 private:
  bool make_locked();

  UniqueFd parent_;
  std::string shown_;
  std::string name_;
  UniqueFd directory_;
};

/// Removes `name` in the directory `parent` and all below it, following no link. Best effort.
void remove_tree(int parent, const std::string& name) noexcept;

}  // namespace fastgpu::transfer
