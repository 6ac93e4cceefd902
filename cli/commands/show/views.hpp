// The views of clusters, nodes and jobs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rdma_devices.hpp"
#include "cli/ui/view.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "cli/workflows/spot_notices.hpp"
#include "provision/storage.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

struct ClusterAndNodes {
  state::Cluster cluster;
  std::vector<state::Node> nodes;
  GuardStatus status{};
  std::vector<Notice> notices{};
  std::string owner{};  ///< See provision::ClusterView.
};

/// The report of a running node about its RDMA devices.
struct NodeReport {
  std::string failure{};  ///< Why the node has reported nothing; empty if it has.
  /// The obstacle to the use of its devices, and the remedy; empty without one.
  std::string obstacle{};
  std::vector<RdmaPort> ports{};
};

/// Returns the RDMA ports of a node; null if it does not run or has not reported.
Json rdma_fields(const std::optional<NodeReport>& report);

Json to_json(const state::Cluster& cluster);
Json to_json(const state::Node& node);
Json to_json(const state::Job& job);
/// Returns the state of a job as users read it. One that waits in Slurm's queue is `queued`, though
/// no fastgpu has to stay for its start.
std::string_view state_word(const state::Job& job);
/// Returns a time that a node has reported, in seconds since 1970; null for 0.
Json time_json(std::int64_t seconds);

/// Returns the fields of a cluster, with its cost per hour, its cost so far, and the time at which
/// its guards end it.
Json cluster_fields(const ClusterAndNodes& shown);

/// Returns the type, the place and the price per hour of the cluster's machines. Outside clouds all
/// fields except the price are null.
Json machine_fields(const state::Cluster& cluster);

/// Returns the storage of the nodes in addition to the system disk.
Json storage_fields(const provision::DataDisk& disk, std::span<const provision::Mount> mounts);

/// Returns the guards, the cost so far and the end.
Json guard_fields(const GuardStatus& status);

/// Returns the guard's option: "max-life", "idle-delete".
std::string_view cause_word(provision::EndCause cause);
std::string cost_text(const GuardStatus& status);  ///< Returns "12.30 USD", "0" or "?".

View view_of(std::span<const ClusterAndNodes> clusters, state::TimePoint now);
/// Returns a view of the nodes of all `clusters`.
View view_of_nodes(std::span<const ClusterAndNodes> clusters);

/// Returns the duration of the job, or the time since its start if it has not ended.
std::chrono::seconds duration_of(const state::Job& job, state::TimePoint now);

/// A job and the name of its cluster, which may be deleted.
struct JobAndCluster {
  state::Job job;
  std::string cluster;
  /// The jobs that a queued job waits for; absent if they are unknown.
  std::optional<std::vector<std::string>> waits_for{};
};
/// A view has all of its parts, or its document alone, which needs no table unless it is sorted.
enum class ViewParts : std::uint8_t { all, document };
View view_of(std::span<const JobAndCluster> jobs, state::TimePoint now,
             ViewParts parts = ViewParts::all);

/// A job in a table, which shows a part of its record or nothing of it.
struct JobRow {
  state::JobLine line;
  std::string_view state;  ///< See state_word().
  std::string cluster;
  std::vector<std::string> waits_for{};  ///< See JobAndCluster.
};
JobRow row_of(const JobAndCluster& shown);

enum class JobColumns : std::uint8_t { usual, all };

/// The rows of a table of jobs, and the lines of a list of their names. Thousands of jobs are not
/// kept beside it.
class JobTable {
 public:
  JobTable(state::TimePoint now, JobColumns columns);

  std::size_t size() const noexcept { return view_.table.rows.size(); }
  void add(const JobRow& job);
  void replace(std::size_t index, const JobRow& job);
  /// Returns the view, whose document is empty.
  View take() && { return std::move(view_); }

 private:
  std::vector<Cell> cells_of(const JobRow& job);
  /// Returns the nodes of a request in little space. Folds each list of names once, since many jobs
  /// have the same one.
  const std::string& nodes_of(const state::ListedRequest& request);

  state::TimePoint now_;
  JobColumns columns_;
  View view_{};
  std::vector<std::string> names_{};  ///< The nodes that were folded last.
  std::string folded_{};
};

/// Returns the view of one cluster, node or job. Its `described` part is for people.
View view_of_one(std::string_view kind, const Json& fields, std::string name);

}  // namespace fastgpu::cli
