// The changes that a failure undoes.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fastgpu::cli {

/// The changes of an operation so far, each with the action that undoes it.
class ReversibleChanges {
 public:
  /// Adds a change before it is made. `what` names it for a message: "port 22, which is open to
  /// 192.0.2.7/32". `undo` also succeeds if the change was not made.
  void add(std::string what, std::function<void()> undo) {
    changes_.push_back({std::move(what), std::move(undo)});
  }

  /// Keeps the changes from now on: undo() does nothing.
  void keep() {
    changes_.clear();
    is_kept_ = true;
  }
  bool is_kept() const noexcept { return is_kept_; }

  /// Undoes the changes, the last one first. Returns the end of the error message: "" without a
  /// change, else that all of them are undone, or which are left and why.
  std::string undo() noexcept;

 private:
  struct Change {
    std::string what;
    std::function<void()> undo;
  };
  std::vector<Change> changes_;
  bool is_kept_ = false;
};

}  // namespace fastgpu::cli
