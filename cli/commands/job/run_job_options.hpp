// The flags of run job.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/job/after_job.hpp"
#include "cli/commands/job/recovery_options.hpp"
#include "cli/commands/job/run_array.hpp"
#include "cli/commands/shared/program_variables.hpp"
#include "cli/program/arguments.hpp"

namespace fastgpu::cli {

struct RunJobOptions {
  std::string name;
  std::string cluster;
  std::string file;
  std::vector<std::string> set;
  std::optional<int> ranks;
  std::optional<int> per_node;
  std::string per;
  std::string hosts;
  std::string engine;
  std::string launcher;
  std::string input;
  VariableFlags variables;
  std::vector<std::string> exported;
  std::vector<std::string> secrets;
  std::string environment;
  std::string sync;
  std::optional<transfer::NodePath> directory;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<std::chrono::milliseconds> grace;
  std::string on_full;
  std::optional<int> keep_jobs;
  std::optional<int> priority;
  std::vector<std::string> after;
  ArrayFlags array;
  RecoveryFlags recovery;
  std::string post_mortem;
  AfterJobFlags after_job;
  std::vector<std::string> program;
  bool no_environment = false;
  bool keep_processes = false;
  bool detach = false;
  bool oversubscribe = false;
  bool share = false;
  bool check = false;
  bool dry_run = false;
};

/// Adds the flags and the program. `options` outlives the command.
void describe_run_job(Arguments& arguments, RunJobOptions& options);

}  // namespace fastgpu::cli
