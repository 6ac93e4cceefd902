// The tables of the database, their version, and the safe opening of a database.
#pragma once

#include <filesystem>

#include "state/sqlite.hpp"

namespace fastgpu::state {

/// The version of the tables. Each change of the tables increases it by one.
constexpr int kSchemaVersion = 2;

struct OpenDatabase {
  sqlite::SqliteConnection connection;
  bool writable = true;
};

/// Opens `directory`/state.db and creates both if they are missing. Before any write, refuses a
/// corrupt database and one of a newer version or of another program. For a read-only directory,
/// returns a read-only connection; if the directory has no database, the connection has empty
/// tables.
OpenDatabase open_database(const std::filesystem::path& directory);

/// Moves the log into the database before the connection is closed, and reserves the log's space
/// again. Otherwise older pages of the log might be applied to a database that was restored from a
/// copy. Leaves the log alone if the disk is full, because the space would be lost.
void empty_log(sqlite::SqliteConnection& connection,
               const std::filesystem::path& directory) noexcept;

std::filesystem::path database_file(const std::filesystem::path& directory);

}  // namespace fastgpu::state
