// What the parts of Store share: the open database, transactions, and values as columns keep them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "state/schema.hpp"
#include "state/sqlite.hpp"
#include "state/store.hpp"

namespace fastgpu::state {

class Store::Database {
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

  /// One change, after the fault point of its name; returns how many rows it touched.
  template <class... Values>
  int write(std::string_view name, std::string_view sql, const Values&... values) {
    require_writable();
    fault_point(name);
    return open_.connection.run(sql, values...);
  }

  std::int64_t last_row_id() const noexcept { return open_.connection.last_row_id(); }

  void atomically(const std::function<void()>& body);

  /// Throws ErrorKind::conflict if the nodes of another cluster have the host names of this one's.
  void check_host_form(const Cluster& cluster);

  /// False for a directory that cannot be written, whose database is of the first version.
  bool has_second_tables();

  /// Begins or ends the node's run, as its row says.
  void note_run(const Node& node);
  void end_run(const ClusterId& cluster, int index);

 private:
  void require_writable() const;
  void roll_back() noexcept;

  std::filesystem::path directory_;
  OpenDatabase open_;
  int depth_ = 0;
};

/// Milliseconds since 1970, as columns keep time.
std::int64_t to_column(TimePoint time);
std::optional<std::int64_t> to_column(const std::optional<TimePoint>& time);
TimePoint time_of(std::int64_t column);

/// Throws ErrorKind::local: a value in the database that no fastgpu writes.
[[noreturn]] void refuse_value(std::string_view what, std::string_view value);

}  // namespace fastgpu::state
