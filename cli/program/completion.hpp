// The completion of a command line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/program/command.hpp"

namespace fastgpu::cli {

/// The names that exist, read only when they are requested.
struct KnownNames {
  std::function<std::vector<std::string>()> clusters;
  /// Returns the nodes of a cluster; "": of all.
  std::function<std::vector<std::string>(const std::string& cluster)> nodes;
  std::function<std::vector<std::string>()> jobs;
  std::function<std::vector<std::string>()> providers;
  /// Returns the groups of nodes in the files of settings.
  std::function<std::vector<std::string>()> groups;
  /// Returns the environments of all clusters.
  std::function<std::vector<std::string>()> environments;
  std::function<std::vector<std::string>()> matrix_names;
  /// Returns the regions of these clouds; of every cloud if none is named.
  std::function<std::vector<std::string>(const std::vector<std::string>& clouds)> regions;
  std::function<std::vector<std::string>()> gpus;  ///< "A100:8"
};

struct Candidate {
  std::string word;
  std::string help{};  ///< Shown beside it by shells that can.
};

struct Completion {
  std::vector<Candidate> candidates;  ///< Each begins with the word being typed.
  bool files = false;                 ///< The shell may offer file names as well.
  bool keep_open = false;             ///< No space after the word: more of it is to come.
};

/// Completes a line. `words` is the line after the program's name up to the cursor; its last word,
/// perhaps empty, is being typed.
Completion complete(std::span<const Command> table, std::span<const std::string> words,
                    const KnownNames& known);

}  // namespace fastgpu::cli
