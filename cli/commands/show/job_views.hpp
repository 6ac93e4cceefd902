// The views of jobs.
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

#include "cli/ui/view.hpp"
#include "launcher/queue.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

Json to_json(const state::Job& job);
/// Returns the state of a job as users read it. One that waits in Slurm's queue is `queued`, though
/// no fastgpu has to stay for its start.
std::string_view state_word(const state::Job& job);
/// Returns the duration of the job, or the time since its start if it has not ended.
std::chrono::seconds duration_of(const state::Job& job, state::TimePoint now);

/// A job and the name of its cluster, which may be deleted.
struct JobAndCluster {
  state::Job job;
  std::string cluster;
  std::optional<launcher::Turn> turn{};  ///< The turn of a queued job; absent if it is unknown.
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
  std::string waits_for{};  ///< What it waits for: "first-1, one of a-1, b-1"; may be empty.
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

}  // namespace fastgpu::cli
