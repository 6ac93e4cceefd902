// The completion of a command line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// The names that exist. Each list is read only when it is needed.
struct KnownNames {
  std::function<std::vector<std::string>()> clusters;
  /// Returns the nodes of `cluster`, or of all clusters if it is "".
  std::function<std::vector<std::string>(const std::string& cluster)> nodes;
  std::function<std::vector<std::string>()> jobs;
  std::function<std::vector<std::string>()> providers;
  /// Returns the node groups of the settings files.
  std::function<std::vector<std::string>()> groups;
  /// Returns the environments of all clusters.
  std::function<std::vector<std::string>()> environments;
  std::function<std::vector<std::string>()> matrix_names;
  /// Returns the regions of `clouds`, or of every cloud if the list is empty.
  std::function<std::vector<std::string>(const std::vector<std::string>& clouds)> regions;
  std::function<std::vector<std::string>()> gpus;  ///< "A100:8"
  std::function<std::vector<std::string>()> schemas;
};

struct CompletionCandidate {
  std::string word;
  std::string help{};  ///< Shown beside the word by shells that can.
};

struct Completion {
  std::vector<CompletionCandidate> candidates;  ///< Each begins with the word being typed.
  bool files = false;                           ///< The shell may offer file names as well.
  bool keep_open = false;  ///< The shell adds no space after the word, because more of it follows.
};

/// Completes a command line. `words` are the words after the program's name, up to the cursor. The
/// last one, which may be empty, is being typed.
Completion complete(std::span<const CliCommand> table, std::span<const std::string> words,
                    const KnownNames& known);

}  // namespace fastgpu::cli
