// A temporary directory for a test. The destructor removes it.
#pragma once

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace fastgpu::test {

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fastgpu-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TempDirectory() {
    std::error_code ignored;
    make_writable(ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  /// Directories without write permission could not be removed otherwise.
  void make_writable(std::error_code& ignored) const {
    using Iterator = std::filesystem::recursive_directory_iterator;
    for (auto item = Iterator(path_, ignored); item != Iterator(); item.increment(ignored))
      if (item->is_directory(ignored) && !item->is_symlink(ignored))
        ::chmod(item->path().c_str(), 0700);
  }

  std::filesystem::path path_;
};

}  // namespace fastgpu::test
