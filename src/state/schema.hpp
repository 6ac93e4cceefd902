// The tables, their version, and the care that opening a database takes.
#pragma once

#include <filesystem>

#include "state/sqlite.hpp"

namespace fastgpu::state {

/// The version of the tables, raised by one with every change of them.
constexpr int kSchemaVersion = 2;

struct OpenDatabase {
  sqlite::Connection connection;
  bool writable = true;
};

/// Opens `directory`/state.db, making both if they are missing. Refuses a database of a newer
/// version, of another program, or a corrupt one before any write. A read-only directory gives a
/// connection for reading; one without a database then reads as empty.
OpenDatabase open_database(const std::filesystem::path& directory);

/// Empties the log before the connection's end, and gives its file its room again. Older pages must
/// not meet a database that was restored from a copy. On a full disk the log stays unchanged, for
/// the room would be lost.
void empty_log(sqlite::Connection& connection, const std::filesystem::path& directory) noexcept;

std::filesystem::path database_file(const std::filesystem::path& directory);

}  // namespace fastgpu::state
