// The order in which the files of a build were finished. They are always sent to other nodes in
// that order, so that a copy can begin before its build ends and can be resumed.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transfer/tree_sender.hpp"

namespace fastgpu::agent {

/// Appends paths below `version` to the order. Its directory of details must exist.
void append_order(const std::filesystem::path& version, std::span<const std::string> paths);

/// A message from the building agent to the copying one.
enum class BuildWord : char {
  more = 'm',  ///< More paths are in the order.
  rest = 'r',  ///< The build is done.
  none = 'n'   ///< The build has failed.
};

/// Thrown by `OrderedFiles` if the build has failed.
struct BuildGivenUp {};

/// Returns the files of a build in their order, as transfer::FirstFiles.
class OrderedFiles {
 public:
  /// `words` is a borrowed descriptor from which the progress is read; absent for a finished build.
  OrderedFiles(const std::filesystem::path& version, std::optional<int> words);

  /// Returns the next file; absent, too, after a second without a message. Throws BuildGivenUp, or
  /// an Error of the kind interrupted if the building agent has gone.
  transfer::FirstFile operator()(bool may_wait);

 private:
  void read_more();
  bool await_more();

  std::filesystem::path file_;
  std::optional<int> words_;
  std::vector<std::string> paths_;
  std::size_t next_ = 0;
};

}  // namespace fastgpu::agent
