// The evidence that the nodes have of a job: how its ranks ended, the ends of their logs, facts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/money.hpp"
#include "cli/workflows/comm_trace.hpp"
#include "cli/workflows/job_access.hpp"
#include "cli/workflows/metric_curve.hpp"
#include "cli/workflows/usage_evidence.hpp"

namespace fastgpu::cli {

struct RankEvidence {
  int rank = 0;
  std::string node{};
  bool has_ended = false;  ///< True if its node has reported its end, or the record has it.
  std::string outcome{};   ///< "exited with 3"; empty if it has not ended.
  int exit_code = 0;
  std::string signal{};   ///< "SIGSEGV", if a signal ended it.
  bool was_told = false;  ///< True if it was ordered to end.
  bool out_of_memory = false;
  std::int64_t began = 0;  ///< Nanoseconds since 1970 by its node's clock; 0: unknown.
  std::int64_t ended = 0;  ///< Nanoseconds since 1970; 0: unknown.
  std::string out{};       ///< The end of its output.
  std::string err{};
};

struct NodeEvidence {
  std::string node{};
  std::string text{};
};

struct JobEvidence {
  state::Job job{};
  launcher::JobRecord record{};
  std::string cluster{};
  std::string run{};                   ///< The name of the run that this is about.
  std::vector<RankEvidence> ranks{};   ///< All ranks, in their order.
  std::string launcher_log{};          ///< The end of the launcher's output.
  std::vector<UsageEvidence> usage{};  ///< The nodes that answered, in the order of their ranks.
  /// The timelines of libfastgpu_comm, by rank; none with facts.
  std::vector<RankTrace> traces{};
  std::size_t traces_left_out = 0;     ///< The timelines that were not read: there were too many.
  std::vector<MetricCurve> metrics{};  ///< The measures that rank 0 has printed; none with facts.
  std::vector<NodeEvidence> facts{};   ///< Empty if they were not asked for.
  /// The price of a machine of the cluster for an hour; absent if it is unknown.
  std::optional<Money> price{};
  std::vector<std::string> missing{};  ///< Why a part is incomplete, a sentence each.
};

/// Returns the nodes of a job that do not run or have left its cluster, which has `nodes`. Adds why
/// they cannot be asked to `evidence.missing`, one sentence for all nodes in the same state.
std::vector<NodeName> note_absent_nodes(const state::Cluster& cluster,
                                        std::span<const state::Node> nodes,
                                        std::span<const launcher::NodeRanks> placement,
                                        JobEvidence& evidence);

/// Fills in, from the job's record, the ends that no node has reported: all of a job that has
/// succeeded, else that of the rank that failed first.
void add_recorded_ends(JobEvidence& evidence);

enum class WithFacts : std::uint8_t { no, yes };

/// Asks the nodes of a job. What they do not answer is missing. Throws interrupted alone.
JobEvidence evidence_of(Services& services, const OpenJob& open, WithFacts facts);

}  // namespace fastgpu::cli
