// What may stand next on a command line.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace fastgpu::cli {

/// The names that exist, read only when they are asked for.
struct KnownNames {
  std::function<std::vector<std::string>()> clusters;
  std::function<std::vector<std::string>(const std::string& cluster)> nodes;  ///< "": of all.
  std::function<std::vector<std::string>()> jobs;
  std::function<std::vector<std::string>()> providers;
  std::function<std::vector<std::string>()> groups;        ///< Of nodes, by the files of settings.
  std::function<std::vector<std::string>()> environments;  ///< Of all clusters.
  std::function<std::vector<std::string>()> matrix_names;
  /// The regions of these clouds; of every cloud where none is named.
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

/// `words` is the line after the program's name up to the cursor; its last word, perhaps empty, is
/// being typed.
Completion complete(std::span<const Command> table, std::span<const std::string> words,
                    const KnownNames& known);

}  // namespace fastgpu::cli
