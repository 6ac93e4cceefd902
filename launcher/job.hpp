// The rules for jobs, which the record has typed (state/job_record.hpp).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "state/job_record.hpp"

namespace fastgpu::launcher {

using state::Crowding;
using state::EngineJob;
using state::EngineKind;
using state::FullDisk;
using state::Input;
using state::JobEndCause;
using state::JobRecord;
using state::JobSpec;
using state::KubernetesOptions;
using state::Launcher;
using state::Leftovers;
using state::NodeRanks;
using state::NodeSlots;
using state::PlaceChoice;
using state::Presence;
using state::RankUnit;
using state::Sharing;
using state::SlurmOptions;

/// The maximum number of ranks of a job.
constexpr int kMostRanks = 100'000;

/// Throws ErrorKind::usage, naming the field and the value met.
void validate(const JobSpec& spec);

/// Throws ErrorKind::usage for a count below 1 or beyond 100 000.
void check_count(const std::string& what, std::optional<int> count);

// Each of these checks one part of a job, for whatever has a place for its error: a flag, a file.
// Each throws ErrorKind::usage for a value that no job can have.
void check_timeout(std::chrono::milliseconds timeout);
void check_grace(std::chrono::milliseconds grace);
void check_hang_timeout(std::chrono::milliseconds limit);
/// Throws for the name of a variable that fastgpu sets itself for each rank.
void check_rank_variable(const std::string& name);

/// Returns the name of a job's run on the nodes: its id, and "train-1.r2" once it has been started
/// again twice.
std::string run_name(const std::string& job_id, int restarts);

/// Returns the directory of a run, or of its --sync copy, on every node; relative to home.
std::string job_directory(const std::string& run);
std::string job_work_directory(const std::string& run);

}  // namespace fastgpu::launcher
