// The owner of machines: several people, or one person's machines, share an account of a cloud.
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

  /// Returns the mark, made now if it is missing. On disk when it returns.
  std::string mark() const;

 private:
  std::filesystem::path file_;
};

}  // namespace fastgpu::provision::cloud
