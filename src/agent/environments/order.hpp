// The order in which the files of a build were done. They always go to other nodes in that order: a
// copy may begin before its build ends, and an interrupted one resumes.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transfer/tree_sender.hpp"

namespace fastgpu::agent {

/// Records that these paths below `version` are done, after earlier ones. Its details must exist.
void append_order(const std::filesystem::path& version, std::span<const std::string> paths);

/// A message of the building agent to the copying one.
enum class BuildWord : char {
  more = 'm',  ///< More paths are in the order.
  rest = 'r',  ///< The build is done.
  none = 'n'   ///< The build has failed.
};

/// Thrown by `OrderedFiles` if the build has failed.
struct BuildGivenUp {};

/// The files of a build in their order: transfer::FirstFiles.
class OrderedFiles {
 public:
  /// Reads the progress from the borrowed descriptor `words`; absent for a finished build.
  OrderedFiles(const std::filesystem::path& version, std::optional<int> words);

  /// Returns the next file; absent also after a second without a message. Throws BuildGivenUp, or
  /// Error interrupted if the building agent has gone.
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
