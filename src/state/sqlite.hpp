// A thin wrapper of SQLite for state/: connections and statements that throw our errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/c_handle.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace fastgpu::state::sqlite {

void close(sqlite3* connection) noexcept;
void finalize(sqlite3_stmt* statement) noexcept;

enum class Mode : std::uint8_t {
  read_write,  ///< Creates the file if it is missing.
  read_only,
  immutable,  ///< Read-only, for a database without writers: needs neither a lock nor a file beside
              ///< it.
  memory,     ///< An empty database in memory, which disappears with the connection.
};

/// A prepared statement with its parameters. The connection must outlive it.
class Statement {
 public:
  Statement(sqlite3* connection, const std::filesystem::path& file, std::string_view sql);

  void bind(std::int64_t value);      ///< Binds the next parameter, from left to right.
  void bind(std::string_view value);  ///< Copied.
  void bind(std::optional<std::int64_t> value);

  bool step();  ///< Proceeds to the next row. Returns false at the end.
  std::string text(int column) const;
  std::string_view view(int column) const;  ///< Returns the text, which ends with the row.
  std::int64_t number(int column) const;
  std::optional<std::int64_t> optional_number(int column) const;

 private:
  void check(int code) const;

  sqlite3* connection_;
  const std::filesystem::path& file_;
  CHandle<sqlite3_stmt, finalize> statement_;
  int bound_ = 0;
};

/// A connection. It waits for up to five seconds for another process's transaction, if
/// wait_longer() sets no other limit.
class SqliteConnection {
 public:
  SqliteConnection(const std::filesystem::path& file, Mode mode);

  /// Returns a statement with bound parameters, ready for step().
  template <class... Values>
  Statement query(std::string_view sql, const Values&... values) {
    Statement statement(handle_.get(), file_, sql);
    (statement.bind(values), ...);
    return statement;
  }

  /// Runs a statement to its end and ignores its rows. Returns the number of changed rows.
  template <class... Values>
  int run(std::string_view sql, const Values&... values) {
    Statement statement = query(sql, values...);
    while (statement.step())
      continue;
    return changes();
  }

  std::int64_t number(std::string_view sql);  ///< Returns the first column of the first row.

  /// Allows the connection to move the write-ahead log into the database. Before this call the
  /// content stays in the log, even when the connection is closed. The log's file keeps its size.
  void allow_checkpoints();

  /// Moves the log into the database and truncates its file, unless another process has the
  /// database open.
  void empty_log();

  std::int64_t last_row_id() const noexcept;
  std::int64_t all_changes() const noexcept;  ///< Returns the number of rows changed so far.

  /// Sets the longest wait for another process's transaction.
  void wait_longer(std::chrono::milliseconds limit) noexcept { waiting_->limit = limit; }

 private:
  /// The wait for another process's transaction that is in progress. SQLite has its address.
  struct Waiting {
    std::chrono::milliseconds limit{5'000};
    std::chrono::steady_clock::time_point since{};
  };
  static int go_on_waiting(void* waiting, int waited_before);

  int changes() const noexcept;

  std::filesystem::path file_;
  std::unique_ptr<Waiting> waiting_ = std::make_unique<Waiting>();
  CHandle<sqlite3, close> handle_;
};

}  // namespace fastgpu::state::sqlite
