// SQLite for state/: a connection and its statements, with errors turned into ours.
#pragma once

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
  read_write,  ///< Makes the file if it is missing.
  read_only,
  immutable,  ///< Read-only, for a database without writers: needs no lock and no file beside it.
  memory,     ///< An empty database that is gone with the connection.
};

/// A prepared statement with its parameters, valid as long as its connection.
class Statement {
 public:
  Statement(sqlite3* connection, const std::filesystem::path& file, std::string_view sql);

  void bind(std::int64_t value);      ///< Binds the next parameter, from left to right.
  void bind(std::string_view value);  ///< Copied.
  void bind(std::optional<std::int64_t> value);

  bool step();  ///< Returns true for each row, false at the end.
  std::string text(int column) const;
  std::int64_t number(int column) const;
  std::optional<std::int64_t> optional_number(int column) const;

 private:
  void check(int code) const;

  sqlite3* connection_;
  const std::filesystem::path& file_;
  CHandle<sqlite3_stmt, finalize> statement_;
  int bound_ = 0;
};

/// A connection. It waits up to five seconds for another process's transaction.
class Connection {
 public:
  Connection(const std::filesystem::path& file, Mode mode);

  /// Returns a statement ready to be stepped.
  template <class... Values>
  Statement query(std::string_view sql, const Values&... values) {
    Statement statement(handle_.get(), file_, sql);
    (statement.bind(values), ...);
    return statement;
  }

  /// Runs a statement to its end and drops its rows; returns how many rows it changed.
  template <class... Values>
  int run(std::string_view sql, const Values&... values) {
    Statement statement = query(sql, values...);
    while (statement.step())
      continue;
    return changes();
  }

  std::int64_t number(std::string_view sql);  ///< The first column of the first row.

  /// Lets the connection move the write-ahead log into the database. Before this call it stays in
  /// the log, even at the connection's end. The log's file keeps its size afterwards.
  void allow_checkpoints();

  /// Moves the log into the database and truncates the log's file, unless another process has the
  /// database open.
  void empty_log();

  std::int64_t last_row_id() const noexcept;

 private:
  int changes() const noexcept;

  std::filesystem::path file_;
  CHandle<sqlite3, close> handle_;
};

}  // namespace fastgpu::state::sqlite
