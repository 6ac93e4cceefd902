// job.yaml: a job as a user writes it down. What is not written is absent here.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/document.hpp"

namespace fastgpu::config {

struct JobFile {
  std::optional<std::string> name{};
  std::optional<std::string> cluster{};
  std::optional<int> np{};
  std::optional<int> npernode{};
  std::vector<std::pair<std::string, std::string>> env{};  ///< In the order written.
  std::optional<std::string> sync{};                       ///< A directory here, as written.
  std::optional<std::string> workdir{};                    ///< On the nodes.
  std::vector<std::string> command{};                      ///< Empty where the file gives none.
  std::optional<std::chrono::milliseconds> timeout{};
  std::optional<bool> detach{};
  std::optional<std::string> engine{};
};

/// Throws ErrorKind::usage with line and column for what cannot be.
JobFile read_job_file(const Document& document);

}  // namespace fastgpu::config
