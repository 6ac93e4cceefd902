// In which order the files of a build were done. They go to other nodes in that order, whenever
// they go: a copy may begin before its build ends, and one that was cut off goes on.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "transfer/tree_sender.hpp"

namespace fastgpu::agent {

/// These paths below `version` are done, after those before. Its details must be there.
void append_order(const std::filesystem::path& version, std::span<const std::string> paths);

/// What whoever builds says to whoever copies at the same time.
enum class BuildWord : char {
  more = 'm',  ///< More is in the order.
  rest = 'r',  ///< All of it is done.
  none = 'n'   ///< Nothing comes of it.
};

/// Thrown by `OrderedFiles` where nothing comes of the build.
struct BuildGivenUp {};

/// The files of a build in their order: transfer::FirstFiles.
class OrderedFiles {
 public:
  /// `words`: who says how far the build is, borrowed; absent where it is done.
  OrderedFiles(const std::filesystem::path& version, std::optional<int> words);

  /// Nothing, too, where who builds has said nothing for a second. Throws BuildGivenUp, or Error
  /// interrupted where who builds has gone.
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
