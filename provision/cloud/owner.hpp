// The owner of machines. An account of a cloud may be shared by several people, or by several
// machines of one person.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace fastgpu::provision::cloud {

/// The mark that one state directory puts on everything that it makes in one cloud.
class Owner {
 public:
  explicit Owner(std::filesystem::path file) : file_(std::move(file)) {}

  /// Returns the mark; absent if nothing was ever made there.
  std::optional<std::string> known() const;

  /// Returns the mark. A new mark is on disk when this returns.
  std::string mark() const;

 private:
  std::filesystem::path file_;
};

}  // namespace fastgpu::provision::cloud
