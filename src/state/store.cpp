// Opening a Store, transactions, and clusters. Nodes, jobs and the journal have files of their own.
#include "state/store.hpp"

#include <utility>

#include "base/host_names.hpp"
#include "state/database.hpp"
#include "state/directory.hpp"
#include "state/record_text.hpp"
#include "state/words.hpp"

namespace fastgpu::state {
namespace {

constexpr std::string_view kSelectClusters =
    "SELECT id, name, provider, state, slots, user, spec, network, created FROM clusters ";

Cluster cluster_of(const sqlite::Statement& row) {
  Cluster cluster{.id = {row.text(0)},
                  .name = {row.text(1)},
                  .provider = row.text(2),
                  .state = parse_cluster_state(row.text(3)),
                  .slots = static_cast<int>(row.number(4)),
                  .user = row.text(5),
                  .created = time_of(row.number(8))};
  read_record_text(cluster, {.spec = row.text(6), .network = row.text(7)});
  return cluster;
}

std::vector<Cluster> all_of(sqlite::Statement rows) {
  std::vector<Cluster> clusters;
  while (rows.step())
    clusters.push_back(cluster_of(rows));
  return clusters;
}

std::optional<Cluster> first_of(sqlite::Statement rows) {
  if (!rows.step()) return std::nullopt;
  return cluster_of(rows);
}

}  // namespace

std::int64_t to_column(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::optional<std::int64_t> to_column(const std::optional<TimePoint>& time) {
  if (!time) return std::nullopt;
  return to_column(*time);
}

TimePoint time_of(std::int64_t column) {
  return TimePoint(std::chrono::milliseconds(column));
}

void refuse_value(std::string_view what, std::string_view value) {
  throw Error(ErrorKind::local, "the state database holds " + std::string(what) + " '" +
                                    printable(value) + "' that cannot be read");
}

Database::Database(const std::filesystem::path& directory)
    : directory_(directory), open_(open_database(directory)) {}

Database::~Database() {
  if (open_.writable) empty_log(open_.connection, directory_);
}

void Database::require_writable() const {
  if (open_.writable) return;
  throw read_only_directory(directory_);
}

void Database::roll_back() noexcept {
  try {
    open_.connection.run("ROLLBACK");
  } catch (const Error&) {
    // SQLite has rolled back by itself, as it does after severe failures.
    return;
  }
}

void Database::atomically(const std::function<void()>& body) {
  require_writable();
  if (depth_ > 0) return body();
  open_.connection.run("BEGIN IMMEDIATE");
  ++depth_;
  try {
    body();
    fault_point("store:commit");
    open_.connection.run("COMMIT");
    --depth_;
  } catch (...) {
    --depth_;
    roll_back();
    throw;
  }
}

void Database::check_host_form(const Cluster& cluster) {
  sqlite::Statement row = query(
      "SELECT name FROM clusters WHERE replace(lower(name), '.', '-')=? AND name!=? AND id!=?",
      host_form(cluster.name.value), cluster.name.value, cluster.id.value);
  if (row.step())
    throw Error(ErrorKind::conflict, "cluster '" + cluster.name.value + "' cannot be beside '" +
                                         row.text(0) +
                                         "': their nodes would have the same host names");
}

Store::Store(const std::filesystem::path& directory)
    : database_(std::make_unique<Database>(directory)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::filesystem::path& Store::directory() const noexcept {
  return database_->directory();
}
bool Store::writable() const noexcept {
  return database_->writable();
}
void Store::atomically(const std::function<void()>& body) {
  database_->atomically(body);
}

void Store::wait_longer(std::chrono::milliseconds limit) noexcept {
  database_->wait_longer(limit);
}
StoreVersion Store::version() const {
  return {database_->changes_by_others(), database_->own_changes()};
}

std::vector<Cluster> Store::clusters() const {
  return all_of(database_->query(std::string(kSelectClusters) + "ORDER BY name"));
}

std::optional<Cluster> Store::find_cluster(const ClusterName& name) const {
  return first_of(database_->query(std::string(kSelectClusters) + "WHERE name=?", name.value));
}

std::optional<Cluster> Store::find_cluster(const ClusterId& id) const {
  return first_of(database_->query(std::string(kSelectClusters) + "WHERE id=?", id.value));
}

void Store::insert_cluster(const Cluster& c) {
  const ClusterText text = record_text_of(c);
  database_->atomically([&] {
    database_->check_host_form(c);
    const int inserted = database_->write(
        "store:insert_cluster",
        "INSERT INTO clusters(id, name, provider, state, slots, user, spec, network, created)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        c.id.value, c.name.value, c.provider, to_string(c.state), c.slots, c.user, text.spec,
        text.network, to_column(c.created));
    if (inserted == 0)
      throw Error(ErrorKind::conflict, "cluster '" + c.name.value + "' exists already");
  });
}

void Store::update_cluster(const Cluster& c) {
  const ClusterText text = record_text_of(c);
  database_->atomically([&] {
    const std::optional<Cluster> namesake = find_cluster(c.name);
    if (namesake && namesake->id != c.id)
      throw Error(ErrorKind::conflict, "cluster '" + c.name.value + "' exists already");
    database_->check_host_form(c);
    const int updated = database_->write(
        "store:update_cluster",
        "UPDATE clusters SET name=?, provider=?, state=?, slots=?, user=?, spec=?, network=?,"
        " created=? WHERE id=?",
        c.name.value, c.provider, to_string(c.state), c.slots, c.user, text.spec, text.network,
        to_column(c.created), c.id.value);
    if (updated == 0) throw Error(ErrorKind::not_found, "cluster '" + c.name.value + "' is gone");
  });
}

void Store::erase_cluster(const ClusterId& id) {
  database_->write("store:erase_cluster", "DELETE FROM clusters WHERE id=?", id.value);
}

}  // namespace fastgpu::state
