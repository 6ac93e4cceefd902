// A job as the user asks for it, and as it is remembered.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"

namespace fastgpu::launcher {

enum class Engine : std::uint8_t { mpirun };
enum class Presence : std::uint8_t { attached, detached };  ///< Does it live on without us?
enum class Input : std::uint8_t { none, rank_0 };           ///< Who reads our standard input.
enum class Crowding : std::uint8_t { refused, allowed };    ///< More ranks than slots.

struct JobSpec {
  JobName name;
  std::vector<std::string> argv;
  std::optional<int> ranks{};              ///< -np; absent: what the slots (or per_node) give.
  std::optional<int> per_node{};           ///< --npernode
  std::vector<std::string> environment{};  ///< "K=V", for every rank.
  std::string directory{};  ///< On the nodes; relative to home; empty: home, or what sync fills.
  std::string mpirun_in{};  ///< A directory there whose mpirun is taken, where it has one.
  std::string sync{};       ///< A directory here that is copied to the job's own place there.
  std::chrono::milliseconds timeout{0};  ///< 0: none.
  Presence presence = Presence::attached;
  Crowding crowding = Crowding::refused;
  Input input = Input::none;
  Engine engine = Engine::mpirun;
};

/// Throws ErrorKind::usage, naming the field and the value met.
void validate(const JobSpec& spec);

/// The ranks of one node, numbered without a gap.
struct NodeRanks {
  NodeName node;
  int first = 0;
  int count = 0;
};

/// What must be known to find a job again.
struct JobRecord {
  JobSpec spec;
  std::vector<NodeRanks> placement;  ///< Nodes with ranks only; the first one starts the job.
};

/// JSON with "schema": "fastgpu.job/1". Of the environment only the names are kept, for values may
/// be secrets; reading gives none back.
std::string to_json(const JobRecord& record);
JobRecord parse_job_record(const std::string& json);  ///< Throws remote.

/// Where a job, and what --sync copies, lives on every node; relative to home.
std::string job_directory(const std::string& job_id);
std::string job_work_directory(const std::string& job_id);

}  // namespace fastgpu::launcher
