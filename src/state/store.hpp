// The database of one state directory: SQLite in WAL mode.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state/model.hpp"

namespace fastgpu::state {

class Database;

struct StoreVersion {
  std::int64_t by_others = -1;
  std::int64_t by_us = -1;
  bool operator==(const StoreVersion&) const = default;
};

/// The parts of a JobLine: those of its row alone, or its request, too.
enum class JobLineParts : std::uint8_t { row, row_and_request };

/// Stores clusters, nodes, jobs and intents. Every call is one transaction and is on disk when it
/// returns. Several processes may use one directory at once; a call waits for up to five seconds
/// for another process's transaction. Use a Store on one thread only.
///
/// Throws ErrorKind::denied for a write to a read-only directory (reading works), capacity for a
/// full disk, local for a corrupt database or one of a newer fastgpu (which stays unchanged), and
/// conflict if another process keeps writing. Each error has the path.
class Store {
 public:
  /// Opens or creates `directory`/state.db (directory 0700, files 0600).
  explicit Store(const std::filesystem::path& directory);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::filesystem::path& directory() const noexcept;
  bool writable() const noexcept;  ///< Returns false for a read-only directory.

  /// Makes the calls in `body` one transaction: on return all of them are on disk; if `body`
  /// throws, all are undone. May be nested.
  void atomically(const std::function<void()>& body);

  /// Sets the longest wait for the changes of other processes. It is five seconds at first, which
  /// is right for commands that a person runs.
  void wait_longer(std::chrono::milliseconds limit) noexcept;

  /// Returns what differs after each change, of this process or another one. Costs next to nothing.
  StoreVersion version() const;

  std::vector<Cluster> clusters() const;  ///< Returns all clusters, sorted by name.
  std::optional<Cluster> find_cluster(const ClusterName& name) const;
  std::optional<Cluster> find_cluster(const ClusterId& id) const;
  /// Throws ErrorKind::conflict if the name or the id is taken.
  void insert_cluster(const Cluster& cluster);
  void update_cluster(const Cluster& cluster);  ///< Finds the cluster by its id. Throws not_found.
  /// Erases the cluster and its nodes. Its jobs stay, with the places of their logs.
  void erase_cluster(const ClusterId& id);

  std::vector<Node> nodes(const ClusterId& cluster) const;  ///< Returns the nodes, sorted by index.
  /// Inserts a node or replaces the one with the same cluster and index. Throws not_found if the
  /// cluster does not exist.
  void put_node(const Node& node);
  void erase_node(const ClusterId& cluster, int index);

  /// Returns the runs of all machines since the creation, including those of removed nodes.
  /// put_node() and erase_node() record them.
  std::vector<Run> runs(const ClusterId& cluster) const;
  /// Records that the machine of a node runs, or no longer runs, whatever the node's state is. Each
  /// does nothing if that is on record.
  void begin_run(const ClusterId& cluster, int index);
  void end_run(const ClusterId& cluster, int index);
  /// Replaces the runs of a cluster whose record comes from another state directory.
  void put_runs(const ClusterId& cluster, const std::vector<Run>& runs);

  std::optional<Timer> timer(const ClusterId& cluster) const;
  /// Does nothing if the cluster does not exist.
  void put_timer(const ClusterId& cluster, const Timer& timer);

  std::vector<Job> jobs() const;  ///< Returns all jobs, the newest first.
  /// Returns the jobs of a cluster that have not ended, the newest first.
  std::vector<Job> open_jobs(const ClusterId& cluster) const;
  /// Calls `take` with each job of `cluster`, or of all clusters, the newest first.
  void for_each_job_line(JobLineParts parts, const std::optional<ClusterId>& cluster,
                         const std::function<void(JobLine&&)>& take) const;
  std::optional<Job> find_job(const std::string& id) const;
  /// Returns the job of this id, or those of the array of this id; none if there is neither.
  std::vector<Job> jobs_of(const std::string& id) const;
  /// Inserts a job under the first free name among "<name>-1", "<name>-2" and so on. The name is
  /// never used again. Sets `job.id`.
  void insert_job(Job& job, const JobName& name);
  /// Takes the first free name of those for later jobs.
  std::string take_job_id(const JobName& name);
  /// Leaves out numbers of that name, so that later jobs get higher ones.
  void skip_job_numbers(const JobName& name, int count);
  /// Inserts a job that another machine has started, under its id NAME-NUMBER, which no later job
  /// here gets.
  void insert_foreign_job(const Job& job, const JobName& name, int number);
  /// Inserts a job under an id that take_job_id() has returned, or that begins with such an id and
  /// a dot.
  void insert_job_as(const Job& job);
  void update_job(const Job& job);
  void erase_job(const std::string& id);  ///< The number is not used again.

  /// Records an intent. The store chooses its `id` and `opened`.
  IntentId open_intent(const Intent& intent);
  void close_intent(IntentId id);
  std::vector<Intent> open_intents() const;  ///< Returns the open intents, the oldest first.
  std::vector<Intent> open_intents(const ClusterId& cluster) const;

 private:
  std::unique_ptr<Database> database_;
};

}  // namespace fastgpu::state
