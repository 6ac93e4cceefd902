// The database of one state directory. It is SQLite in WAL mode.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state/model.hpp"

namespace fastgpu::state {

/// Every call is one transaction and is on disk when it returns. Several processes may use one
/// directory at once; a call waits up to five seconds for another's transaction. One thread a
/// Store.
///
/// Throws ErrorKind::denied if a read-only directory would have to be written (reading works),
/// capacity for a full disk, local for a corrupt database or one written by a newer fastgpu (which
/// stays unchanged), conflict if another process keeps writing; each with its path.
class Store {
 public:
  /// Opens or makes `directory`/state.db (directory 0700, files 0600).
  explicit Store(const std::filesystem::path& directory);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::filesystem::path& directory() const noexcept;
  bool writable() const noexcept;  ///< False for a read-only directory.

  /// Makes the calls in `body` one transaction: all of them are on disk on return, or, if `body`
  /// throws, all are undone. May be nested.
  void atomically(const std::function<void()>& body);

  std::vector<Cluster> clusters() const;  ///< Sorted by name.
  std::optional<Cluster> find_cluster(const ClusterName& name) const;
  std::optional<Cluster> find_cluster(const ClusterId& id) const;
  /// Throws ErrorKind::conflict if the name or the identity is taken.
  void insert_cluster(const Cluster& cluster);
  void update_cluster(const Cluster& cluster);  ///< Finds it by id. Throws not_found.
  /// Erases its nodes, too; jobs and their logs' places stay.
  void erase_cluster(const ClusterId& id);

  std::vector<Node> nodes(const ClusterId& cluster) const;  ///< Sorted by index.
  /// Inserts or replaces by (cluster, index). Throws not_found if the cluster does not exist.
  void put_node(const Node& node);
  void erase_node(const ClusterId& cluster, int index);
  /// Returns the lowest index that no node of this cluster ever had.
  int next_node_index(const ClusterId& cluster) const;

  /// Returns the runs since the creation, removed nodes' included; put_node and erase_node record
  /// them.
  std::vector<Run> runs(const ClusterId& cluster) const;
  /// Replaces the known runs; for a cluster whose records came from another place.
  void put_runs(const ClusterId& cluster, const std::vector<Run>& runs);

  std::optional<Timer> timer(const ClusterId& cluster) const;
  /// Ignores a cluster that is gone.
  void put_timer(const ClusterId& cluster, const Timer& timer);

  std::vector<Job> jobs() const;  ///< Newest first.
  std::optional<Job> find_job(const std::string& id) const;
  /// Inserts a job under "<name>-1", "<name>-2", ..., reserved for ever. Sets `job.id`.
  void insert_job(Job& job, const JobName& name);
  void update_job(const Job& job);
  void erase_job(const std::string& id);  ///< The number is not used again.

  IntentId open_intent(const Intent& intent);  ///< The store sets `intent.id` and `opened`.
  void close_intent(IntentId id);
  std::vector<Intent> open_intents() const;  ///< Oldest first.
  std::vector<Intent> open_intents(const ClusterId& cluster) const;

 private:
  class Database;
  std::unique_ptr<Database> database_;
};

}  // namespace fastgpu::state
