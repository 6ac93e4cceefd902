// A program that stands in for nvidia-smi.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace fastgpu::test {

inline std::string path_variable() {
  const char* const path = ::getenv("PATH");
  return path != nullptr ? path : "";
}

/// Gives PATH another value while it lives.
class ChangedPath {
 public:
  explicit ChangedPath(const std::string& path) : before_(path_variable()) {
    ::setenv("PATH", path.c_str(), 1);
  }
  ~ChangedPath() { ::setenv("PATH", before_.c_str(), 1); }
  ChangedPath(const ChangedPath&) = delete;
  ChangedPath& operator=(const ChangedPath&) = delete;

 private:
  std::string before_;
};

/// Puts a program called nvidia-smi into PATH while it lives, and keeps it in `folder`.
class FakeNvidiaSmi {
 public:
  FakeNvidiaSmi(const std::filesystem::path& folder, const std::string& script)
      : path_(folder.string() + ":" + path_variable()) {
    const std::filesystem::path program = folder / "nvidia-smi";
    std::ofstream(program) << "#!/bin/sh\n" << script;
    ::chmod(program.c_str(), 0700);
  }

 private:
  ChangedPath path_;
};

}  // namespace fastgpu::test
