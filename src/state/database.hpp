// The common part of Store's methods: the open database, transactions, and values in the form of
// columns.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "state/model.hpp"
#include "state/schema.hpp"
#include "state/sqlite.hpp"

namespace fastgpu::state {

class Database {
 public:
  explicit Database(const std::filesystem::path& directory);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::filesystem::path& directory() const noexcept { return directory_; }
  bool writable() const noexcept { return open_.writable; }

  template <class... Values>
  sqlite::Statement query(std::string_view sql, const Values&... values) {
    return open_.connection.query(sql, values...);
  }

  /// Makes one change, after the fault point `name`. Returns the number of changed rows.
  template <class... Values>
  int write(std::string_view name, std::string_view sql, const Values&... values) {
    require_writable();
    fault_point(name);
    return open_.connection.run(sql, values...);
  }

  std::int64_t last_row_id() const noexcept { return open_.connection.last_row_id(); }

  void atomically(const std::function<void()>& body);

  void wait_longer(std::chrono::milliseconds limit) noexcept {
    open_.connection.wait_longer(limit);
  }

  /// Returns a number that grows with each change by another connection.
  std::int64_t changes_by_others() { return open_.connection.number("PRAGMA data_version"); }
  std::int64_t own_changes() const noexcept { return open_.connection.all_changes(); }

  /// Throws ErrorKind::conflict if nodes of another cluster have the same host names as nodes of
  /// this one.
  void check_host_form(const Cluster& cluster);

  /// Returns false for a database of the first version in a directory that cannot be written.
  bool has_second_tables();

  /// Begins or ends the run of the node's machine, as the node's row requires.
  void note_run(const Node& node);
  void begin_run(const ClusterId& cluster, int index);
  void end_run(const ClusterId& cluster, int index);

 private:
  void require_writable() const;
  void roll_back() noexcept;

  std::filesystem::path directory_;
  OpenDatabase open_;
  int depth_ = 0;
};

/// Columns store times as milliseconds since 1970.
std::int64_t to_column(TimePoint time);
std::optional<std::int64_t> to_column(const std::optional<TimePoint>& time);
TimePoint time_of(std::int64_t column);

/// Throws ErrorKind::local for a value in the database that no fastgpu writes.
[[noreturn]] void refuse_value(std::string_view what, std::string_view value);

}  // namespace fastgpu::state
