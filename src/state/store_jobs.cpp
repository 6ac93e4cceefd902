// Jobs of a Store.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/database.hpp"
#include "state/record_text.hpp"
#include "state/store.hpp"
#include "state/words.hpp"

namespace fastgpu::state {
namespace {

constexpr std::string_view kSelectJobs =
    "SELECT id, cluster, spec, state, exit_code, reason, created, ended FROM jobs ";

Job job_of(const sqlite::Statement& row) {
  Job job{.id = row.text(0),
          .cluster = {row.text(1)},
          .state = parse_job_state(row.text(3)),
          .reason = row.text(5),
          .created = time_of(row.number(6))};
  if (const auto code = row.optional_number(4)) job.exit_code = static_cast<int>(*code);
  if (const auto ended = row.optional_number(7)) job.ended = time_of(*ended);
  read_record_text(job, row.text(2));
  return job;
}

}  // namespace

std::vector<Job> Store::jobs() const {
  sqlite::Statement count = database_->query("SELECT count(*) FROM jobs");
  count.step();
  std::vector<Job> jobs;
  jobs.reserve(static_cast<std::size_t>(count.number(0)));
  sqlite::Statement rows = database_->query(std::string(kSelectJobs) + "ORDER BY sequence DESC");
  while (rows.step())
    jobs.push_back(job_of(rows));
  return jobs;
}

std::vector<Job> Store::jobs_of(const std::string& id) const {
  // The jobs of array train-1 are train-1.0, train-1.1 and so on; '/' is the character after '.'.
  std::vector<Job> jobs;
  sqlite::Statement rows = database_->query(
      std::string(kSelectJobs) + "WHERE id=? OR (id>? AND id<?) ORDER BY sequence DESC", id,
      id + ".", id + "/");
  while (rows.step())
    jobs.push_back(job_of(rows));
  return jobs;
}

std::vector<Job> Store::open_jobs(const ClusterId& cluster) const {
  std::vector<Job> jobs;
  sqlite::Statement rows = database_->query(
      std::string(kSelectJobs) + "WHERE cluster=? AND state IN (?, ?, ?) ORDER BY sequence DESC",
      cluster.value, to_string(JobState::queued), to_string(JobState::starting),
      to_string(JobState::running));
  while (rows.step())
    jobs.push_back(job_of(rows));
  return jobs;
}

void Store::for_each_job_line(JobLineParts parts, const std::optional<ClusterId>& cluster,
                              const std::function<void(JobLine&&)>& take) const {
  const bool has_request = parts == JobLineParts::row_and_request;
  std::string select = "SELECT id, cluster, state, exit_code, reason, created, ended";
  if (has_request) select += ", spec";
  select += " FROM jobs ";
  if (cluster) select += "WHERE cluster=? ";
  select += "ORDER BY sequence DESC";
  sqlite::Statement rows = cluster ? database_->query(select, std::string_view(cluster->value))
                                   : database_->query(select);
  while (rows.step()) {
    JobLine line{.id = rows.text(0),
                 .cluster = {rows.text(1)},
                 .state = parse_job_state(rows.view(2)),
                 .reason = rows.text(4),
                 .created = time_of(rows.number(5))};
    if (const auto code = rows.optional_number(3)) line.exit_code = static_cast<int>(*code);
    if (const auto ended = rows.optional_number(6)) line.ended = time_of(*ended);
    if (has_request) line.request = listed_request(rows.view(7));
    take(std::move(line));
  }
}

std::optional<Job> Store::find_job(const std::string& id) const {
  sqlite::Statement rows = database_->query(std::string(kSelectJobs) + "WHERE id=?", id);
  if (!rows.step()) return std::nullopt;
  return job_of(rows);
}

std::string Store::take_job_id(const JobName& name) {
  std::string id;
  atomically([&] {
    database_->write("store:insert_job",
                     "INSERT INTO job_numbers(name, last) VALUES(?, 1)"
                     " ON CONFLICT(name) DO UPDATE SET last=last+1",
                     name.value);
    sqlite::Statement row =
        database_->query("SELECT last FROM job_numbers WHERE name=?", name.value);
    row.step();
    id = name.value + "-" + std::to_string(row.number(0));
  });
  return id;
}

void Store::insert_job_as(const Job& job) {
  database_->write("store:insert_job:numbered",
                   "INSERT INTO jobs(id, cluster, spec, state, exit_code, reason, created, ended)"
                   " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                   job.id, job.cluster.value, record_text_of(job), to_string(job.state),
                   std::optional<std::int64_t>(job.exit_code), job.reason, to_column(job.created),
                   to_column(job.ended));
}

void Store::insert_job(Job& job, const JobName& name) {
  Job numbered = job;
  atomically([&] {
    numbered.id = take_job_id(name);
    insert_job_as(numbered);
  });
  job.id = std::move(numbered.id);
}

void Store::skip_job_numbers(const JobName& name, int count) {
  database_->write("store:skip_job_numbers", "UPDATE job_numbers SET last=last+? WHERE name=?",
                   count, name.value);
}

void Store::insert_foreign_job(const Job& job, const JobName& name, int number) {
  atomically([&] {
    database_->write("store:insert_foreign_job",
                     "INSERT INTO job_numbers(name, last) VALUES(?, ?)"
                     " ON CONFLICT(name) DO UPDATE SET last=max(last, excluded.last)",
                     name.value, number);
    insert_job_as(job);
  });
}

void Store::update_job(const Job& job) {
  const int updated = database_->write(
      "store:update_job",
      "UPDATE jobs SET cluster=?, spec=?, state=?, exit_code=?, reason=?, created=?, ended=?"
      " WHERE id=?",
      job.cluster.value, record_text_of(job), to_string(job.state),
      std::optional<std::int64_t>(job.exit_code), job.reason, to_column(job.created),
      to_column(job.ended), job.id);
  if (updated == 0) throw Error(ErrorKind::not_found, "there is no job '" + job.id + "'");
}

void Store::erase_job(const std::string& id) {
  database_->write("store:erase_job", "DELETE FROM jobs WHERE id=?", id);
}

}  // namespace fastgpu::state
