// The runs of a Store's nodes, and the timers of clusters.
#include "state/database.hpp"
#include "state/store.hpp"

namespace fastgpu::state {
namespace {

/// Returns true if the node costs nothing, as far as is known.
bool is_off(const Node& node) {
  return node.instance_id.empty() || node.state == NodeState::stopped ||
         node.state == NodeState::lost;
}

/// The column that has an order. Older versions wrote the order, and read whether there is one.
constexpr const char* kOrdered = "sent";

std::optional<TimePoint> optional_time(std::optional<std::int64_t> column) {
  if (!column) return std::nullopt;
  return time_of(*column);
}

}  // namespace

bool Database::has_second_tables() {
  return writable() || query("SELECT 1 FROM sqlite_schema WHERE name='runs'").step();
}

void Database::note_run(const Node& node) {
  if (is_off(node)) return end_run(node.cluster, node.index);
  if (node.state == NodeState::deleting) return;  // It may have been stopped before.
  begin_run(node.cluster, node.index);
}

void Database::begin_run(const ClusterId& cluster, int index) {
  write("store:note_run",
        "INSERT INTO runs(cluster, position, began) SELECT ?, ?, ? WHERE NOT EXISTS(SELECT 1 FROM"
        " runs WHERE cluster=? AND position=? AND ended IS NULL)"
        " ON CONFLICT DO UPDATE SET ended=NULL",
        cluster.value, index, to_column(std::chrono::system_clock::now()), cluster.value, index);
}

void Database::end_run(const ClusterId& cluster, int index) {
  write("store:end_run", "UPDATE runs SET ended=? WHERE cluster=? AND position=? AND ended IS NULL",
        to_column(std::chrono::system_clock::now()), cluster.value, index);
}

void Store::begin_run(const ClusterId& cluster, int index) {
  database_->begin_run(cluster, index);
}

void Store::end_run(const ClusterId& cluster, int index) {
  database_->end_run(cluster, index);
}

void Store::put_runs(const ClusterId& cluster, const std::vector<Run>& runs) {
  atomically([&] {
    database_->write("store:put_runs", "DELETE FROM runs WHERE cluster=?", cluster.value);
    for (const Run& run : runs)
      database_->write("store:put_runs:one",
                       "INSERT INTO runs(cluster, position, began, ended) VALUES(?, ?, ?, ?)"
                       " ON CONFLICT DO UPDATE SET ended=excluded.ended",
                       cluster.value, run.index, to_column(run.began), to_column(run.ended));
  });
}

std::vector<Run> Store::runs(const ClusterId& cluster) const {
  std::vector<Run> runs;
  if (!database_->has_second_tables()) return runs;
  sqlite::Statement rows = database_->query(
      "SELECT position, began, ended FROM runs WHERE cluster=? ORDER BY position, began",
      cluster.value);
  while (rows.step())
    runs.push_back({.index = static_cast<int>(rows.number(0)),
                    .began = time_of(rows.number(1)),
                    .ended = optional_time(rows.optional_number(2))});
  return runs;
}

std::optional<Timer> Store::timer(const ClusterId& cluster) const {
  if (!database_->has_second_tables()) return std::nullopt;
  sqlite::Statement row =
      database_->query("SELECT ends, contact, told FROM timers WHERE cluster=?", cluster.value);
  if (!row.step()) return std::nullopt;
  return Timer{.ends = optional_time(row.optional_number(0)),
               .contact = time_of(row.number(1)),
               .nodes_have_order = !row.text(2).empty()};
}

void Store::put_timer(const ClusterId& cluster, const Timer& timer) {
  database_->write("store:put_timer",
                   "INSERT INTO timers(cluster, ends, contact, told) SELECT ?, ?, ?, ?"
                   " WHERE EXISTS(SELECT 1 FROM clusters WHERE id=?)"
                   " ON CONFLICT(cluster) DO UPDATE SET ends=excluded.ends,"
                   " contact=excluded.contact, told=excluded.told",
                   cluster.value, to_column(timer.ends), to_column(timer.contact),
                   timer.nodes_have_order ? kOrdered : "", cluster.value);
}

}  // namespace fastgpu::state
