#include "state/schema.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <thread>

#include "base/chosen_place.hpp"
#include "base/error.hpp"
#include "base/fault_point.hpp"
#include "base/file_status.hpp"
#include "base/unique_fd.hpp"
#include "state/directory.hpp"
#include "state/private_place.hpp"
#include "state/reserve.hpp"

namespace fastgpu::state {
namespace {

namespace fs = std::filesystem;
using sqlite::Mode;
using sqlite::SqliteConnection;

constexpr std::int64_t kApplicationId = 0x46475055;  // "FGPU"

constexpr std::array kTables = {
    "CREATE TABLE clusters(id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, provider TEXT NOT NULL,"
    " state TEXT NOT NULL, slots INTEGER NOT NULL, user TEXT NOT NULL, spec TEXT NOT NULL,"
    " network TEXT NOT NULL, created INTEGER NOT NULL, next_node INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE nodes(cluster TEXT NOT NULL REFERENCES clusters(id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, token TEXT NOT NULL,"
    " instance TEXT NOT NULL, address TEXT NOT NULL, port INTEGER NOT NULL,"
    " private_address TEXT NOT NULL, user TEXT NOT NULL, slots INTEGER NOT NULL,"
    " identity TEXT NOT NULL, host_keys TEXT NOT NULL, jumps TEXT NOT NULL,"
    " PRIMARY KEY(cluster, position)) WITHOUT ROWID",
    "CREATE TABLE jobs(sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
    " cluster TEXT NOT NULL, spec TEXT NOT NULL, state TEXT NOT NULL, exit_code INTEGER,"
    " reason TEXT NOT NULL, created INTEGER NOT NULL, ended INTEGER)",
    "CREATE TABLE job_numbers(name TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE intents(id INTEGER PRIMARY KEY AUTOINCREMENT, cluster TEXT NOT NULL,"
    " action TEXT NOT NULL, subject TEXT NOT NULL, token TEXT NOT NULL, detail TEXT NOT NULL,"
    " opened INTEGER NOT NULL)",
    "CREATE INDEX intents_of_cluster ON intents(cluster)",
};

/// The tables that version 2 adds to those of version 1.
constexpr std::array kSecondTables = {
    "CREATE TABLE runs(cluster TEXT NOT NULL REFERENCES clusters(id) ON DELETE CASCADE,"
    " position INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER,"
    " PRIMARY KEY(cluster, position, began)) WITHOUT ROWID",
    "CREATE TABLE timers(cluster TEXT PRIMARY KEY REFERENCES clusters(id) ON DELETE CASCADE,"
    " ends INTEGER, contact INTEGER NOT NULL, told TEXT NOT NULL) WITHOUT ROWID",
};

[[noreturn]] void refuse_newer(const fs::path& file, std::int64_t version) {
  throw Error(ErrorKind::local,
              "the state database " + file.string() + " was written by a newer fastgpu (version " +
                  std::to_string(version) + ", this one knows " + std::to_string(kSchemaVersion) +
                  "): use that one, or set FASTGPU_STATE_DIR to another place");
}

[[noreturn]] void refuse_foreign(const fs::path& file) {
  throw Error(ErrorKind::local, "the state database " + file.string() +
                                    " is corrupt (it is not a database of fastgpu): move it away, "
                                    "then `fastgpu gc` removes what its clusters left behind");
}

bool has_bytes(const fs::path& file) {
  const auto status = find_status(file);
  return status && status->st_size > 0;
}

fs::path log_of(const fs::path& file) {
  return file.string() + "-wal";
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char c : bytes)
    value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

/// Checks only the first bytes of the file, so that a database of another program is not touched.
void check_header(const fs::path& file) {
  constexpr std::size_t kHeader = 100;
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw state_file_error("opening the state database", file, errno);
  std::array<char, kHeader> buffer{};
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  if (got < 0) throw system_error("reading the state database " + file.string(), errno);
  if (got == 0) return;
  const std::string_view header(buffer.data(), static_cast<std::size_t>(got));
  if (header.size() < kHeader || header.substr(0, kMagic.size()) != kMagic) refuse_foreign(file);
  const std::uint32_t version = big_endian(header.substr(60, 4));
  if (version > kSchemaVersion) refuse_newer(file, version);
}

void create_tables(SqliteConnection& connection, const fs::path& file) {
  connection.run("BEGIN IMMEDIATE");
  const std::int64_t version = connection.number("PRAGMA user_version");
  if (version > kSchemaVersion) refuse_newer(file, version);
  if (version == 0) {
    if (connection.number("SELECT count(*) FROM sqlite_schema") != 0) refuse_foreign(file);
    for (const char* table : kTables)
      connection.run(table);
    connection.run("PRAGMA application_id=" + std::to_string(kApplicationId));
  }
  if (version < 2)
    for (const char* table : kSecondTables)
      connection.run(table);
  connection.run("PRAGMA user_version=" + std::to_string(kSchemaVersion));
  connection.run("COMMIT");
}

/// Switches to write-ahead logging. Retries by itself, because SQLite does not wait if two
/// processes request the switch at once.
void use_write_ahead_log(SqliteConnection& connection) {
  using namespace std::chrono_literals;
  for (int attempt = 0;; ++attempt) {
    try {
      connection.run("PRAGMA journal_mode=WAL");
      return;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::conflict || attempt == 100) throw;
      std::this_thread::sleep_for(50ms);
    }
  }
}

void make_file(const fs::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd)
    throw Error(unusable(state_place(file.parent_path()),
                         system_error("making the state database " + file.string(), errno)));
}

/// Whether other processes may use the database. `alone` needs no space on the disk, while locking
/// needs some for the index of the log.
enum class Locking : std::uint8_t { with_others, alone };

SqliteConnection connect(const fs::path& file, Locking locking) {
  SqliteConnection connection(file, Mode::read_write);
  if (locking == Locking::alone) connection.run("PRAGMA locking_mode=EXCLUSIVE");
  const std::int64_t version = connection.number("PRAGMA user_version");
  if (version > kSchemaVersion) refuse_newer(file, version);
  connection.allow_checkpoints();
  if (version != kSchemaVersion) {
    use_write_ahead_log(connection);
    fault_point("store:converted");
    create_tables(connection, file);
  }
  connection.run("PRAGMA synchronous=FULL");
  connection.run("PRAGMA foreign_keys=ON");
  connection.run("PRAGMA wal_autocheckpoint=" + std::to_string(kPagesInLog));
  return connection;
}

SqliteConnection open_writable(const fs::path& file) {
  fault_point("store:opening");
  make_file(file);
  try {
    SqliteConnection connection = connect(file, Locking::with_others);
    reserve_room(log_of(file));
    return connection;
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::capacity) throw;
  }
  return connect(file, Locking::alone);
}

SqliteConnection open_readable(const fs::path& file) {
  if (!has_bytes(file)) {
    SqliteConnection empty(file, Mode::memory);
    create_tables(empty, file);
    return empty;
  }
  SqliteConnection connection(file, has_bytes(log_of(file)) ? Mode::read_only : Mode::immutable);
  const std::int64_t version = connection.number("PRAGMA user_version");
  if (version > kSchemaVersion) refuse_newer(file, version);
  return connection;
}

bool may_write(const fs::path& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

/// Returns false if the directory exists but is not accessible, or cannot be created on a read-only
/// disk.
bool prepare_directory(const fs::path& directory) try {
  at_place(state_place(directory), [&] { make_private_directory(directory); });
  const fs::path file = database_file(directory);
  return may_write(directory) && (!path_exists(file) || may_write(file));
} catch (const Error& e) {
  if (e.kind() == ErrorKind::denied) return false;
  throw;
}

}  // namespace

fs::path database_file(const fs::path& directory) {
  return directory / "state.db";
}

void empty_log(SqliteConnection& connection, const fs::path& directory) noexcept try {
  const fs::path log = log_of(database_file(directory));
  if (!can_reserve_again(log)) return;
  connection.empty_log();
  reserve_room(log);
} catch (const Error&) {
  return;  // Another process uses the database, or the log will be emptied the next time.
}

OpenDatabase open_database(const fs::path& directory) {
  const fs::path file = database_file(directory);
  require_private_place(directory);
  const bool writable = prepare_directory(directory);
  if (has_bytes(file) && !has_bytes(file.string() + "-journal")) check_header(file);
  return {writable ? open_writable(file) : open_readable(file), writable};
}

}  // namespace fastgpu::state
