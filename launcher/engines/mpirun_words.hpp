// Finds the rank, or the loss of a node, that ended a job in the output of mpirun.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "process/exit_status.hpp"

namespace fastgpu::launcher {

struct NamedRank {
  int rank = 0;
  process::ExitStatus how{};
};

/// Returns the rank that failed first, as mpirun 4 or 5 names it in `words`; absent if it names
/// none of `ranks` ranks, or one that ended well. Pure.
std::optional<NamedRank> rank_named_by_mpirun(std::string_view words, int ranks);

/// Returns the rank whose agent ended before it could report the rank's end, as our own launcher
/// writes it: "the agent of rank 3 has ended (137)". Absent if `words` have no such line. Pure.
std::optional<NamedRank> rank_of_ended_agent(std::string_view words, int ranks);

/// Returns the rank that ended without MPI_Finalize, or without MPI_Init where others have called
/// it, as mpirun reports it; absent if it does not. Pure.
std::optional<int> unfinalized_rank(std::string_view words);

/// The end of a job by MPI itself.
struct MpiAbort {
  std::optional<int> rank{};  ///< The rank in the job; absent if the words do not have it.
  int code = 0;               ///< The code given to MPI_Abort; 0 if MPI itself has ended the job.
  std::string what{};         ///< "called MPI_Abort with error code 7", "MPI_Send failed: ..."
};

/// Returns the call of MPI_Abort, or the fatal error of MPI, that ended a job of `ranks` ranks, as
/// Open MPI 4 or 5 reports it; absent if it does not. Pure.
std::optional<MpiAbort> abort_named_by_mpirun(std::string_view words, int ranks);

/// Returns the essential part of the words of a launcher as one sentence: the first paragraph that
/// mpirun has put between lines of dashes, else the last one. "" without words. Pure.
std::string gist_of(std::string_view words);

/// Returns true for a line in which mpirun reports that it passes a signal on: an order of ours to
/// the ranks, such as "mpirun: Forwarding signal 23 to job". Pure.
bool is_forwarding_report(std::string_view line);

/// Returns the words of a launcher without such lines. Pure.
std::string without_forwarding_reports(std::string_view words);

/// Returns what was written just before mpirun reported that it could not start its daemons on
/// other nodes, such as "bash: orted: command not found"; "" for nothing, absent without such a
/// report. The report itself names neither a node nor a cause. Pure.
std::optional<std::string> words_before_missing_daemons(std::string_view words);

/// A node whose part of the launcher is lost.
struct LostDaemon {
  std::string node;   ///< The name or the address.
  std::string why{};  ///< The words of ssh; may be empty.
};

/// Returns the node whose daemon mpirun has lost, or that our own launcher has lost; absent if they
/// have lost none. Pure.
std::optional<LostDaemon> node_lost_by_launcher(std::string_view words);

}  // namespace fastgpu::launcher
