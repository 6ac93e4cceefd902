// The journal of a Store: actions, recorded before they are taken.
#include "state/database.hpp"
#include "state/part_json.hpp"
#include "state/store.hpp"

namespace fastgpu::state {
namespace {

std::vector<Intent> intents_of(sqlite::Statement rows) {
  std::vector<Intent> intents;
  while (rows.step()) {
    intents.push_back({.id = {rows.number(0)},
                       .cluster = {rows.text(1)},
                       .action = rows.text(2),
                       .subject = rows.text(3),
                       .token = rows.text(4),
                       .opened = time_of(rows.number(6))});
    read_detail(intents.back(), rows.text(5));
  }
  return intents;
}

}  // namespace

IntentId Store::open_intent(const Intent& intent) {
  database_->write("journal:opening",
                   "INSERT INTO intents(cluster, action, subject, token, detail, opened)"
                   " VALUES(?, ?, ?, ?, ?, ?)",
                   intent.cluster.value, intent.action, intent.subject, intent.token,
                   detail_text_of(intent), to_column(std::chrono::system_clock::now()));
  const IntentId id{database_->last_row_id()};
  fault_point("journal:opened");
  return id;
}

void Store::close_intent(IntentId id) {
  database_->write("journal:closing", "DELETE FROM intents WHERE id=?", id.value);
  fault_point("journal:closed");
}

std::vector<Intent> Store::open_intents() const {
  return intents_of(
      database_->query("SELECT id, cluster, action, subject, token, detail, opened FROM intents"
                       " ORDER BY id"));
}

std::vector<Intent> Store::open_intents(const ClusterId& cluster) const {
  return intents_of(
      database_->query("SELECT id, cluster, action, subject, token, detail, opened FROM intents"
                       " WHERE cluster=? ORDER BY id",
                       cluster.value));
}

}  // namespace fastgpu::state
