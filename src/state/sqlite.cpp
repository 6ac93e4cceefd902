#include "state/sqlite.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::state::sqlite {
namespace {

bool is_full(int code, int error_number) {
  return code == SQLITE_FULL || error_number == ENOSPC || error_number == EDQUOT ||
         code == SQLITE_IOERR_SHMSIZE;
}

bool is_denied(int code, int error_number) {
  const int primary = code & 0xff;
  return primary == SQLITE_READONLY || primary == SQLITE_PERM || primary == SQLITE_AUTH ||
         error_number == EACCES || error_number == EPERM || error_number == EROFS;
}

/// Returns the errno of a failure. SQLite keeps none for a failed write to its log. If there is a
/// limit on file sizes, it must be the cause, because a full disk has a code of its own.
int errno_of(int code, sqlite3* connection) {
  const int kept = sqlite3_system_errno(connection);
  rlimit limit{};
  const bool is_limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return kept == 0 && code == SQLITE_IOERR_WRITE && is_limited ? EFBIG : kept;
}

/// Returns EMFILE or ENFILE if this process has no two descriptors left, else 0. SQLite takes
/// shared memory that it cannot open for locked.
int lack_of_descriptors() noexcept {
  const UniqueFd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd other(one ? ::open("/dev/null", O_RDONLY | O_CLOEXEC) : -1);
  return !other && (errno == EMFILE || errno == ENFILE) ? errno : 0;
}

/// Returns the error for a failure, with a remedy.
Error error_of(int code, sqlite3* connection, const std::filesystem::path& file) {
  const int primary = code & 0xff;
  const bool about_files = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN;
  const int error_number = about_files ? errno_of(code, connection) : 0;
  const std::string path = file.string();
  const std::string detail = sqlite3_errmsg(connection);
  if (is_full(code, error_number))
    return {ErrorKind::capacity, "no space left for the state database " + path +
                                     ": free some space there and try again"};
  if (is_denied(code, error_number))
    return {ErrorKind::denied, "the state database " + path + " is read-only: make it and its " +
                                   "directory writable, or set FASTGPU_STATE_DIR"};
  const bool is_locked = primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
  if (const int lack = is_locked ? lack_of_descriptors() : 0; lack != 0)
    return system_error("the state database " + path, lack);
  if (is_locked)
    return {ErrorKind::conflict, "other processes have been writing to the state database " + path +
                                     " for too long: try again when they are done"};
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
    return {ErrorKind::local, "the state database " + path + " is corrupt (" + detail +
                                  "): move it away, then `fastgpu gc` removes what its clusters "
                                  "left behind"};
  if (error_number == EMFILE || error_number == ENFILE || error_number == EFBIG)
    return system_error("the state database " + path, error_number);
  const std::string reason =
      error_number == 0 ? "" : " (" + std::generic_category().message(error_number) + ")";
  return {ErrorKind::local, "the state database " + path + ": " + detail + reason};
}

std::string address_of(const std::filesystem::path& file) {
  std::string escaped;
  for (const char c : file.string()) {
    if (c == '%')
      escaped += "%25";
    else if (c == '?')
      escaped += "%3f";
    else if (c == '#')
      escaped += "%23";
    else
      escaped += c;
  }
  return "file:" + escaped + "?immutable=1";
}

int open_flags(Mode mode) {
  switch (mode) {
    case Mode::read_write:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    case Mode::read_only:
      return SQLITE_OPEN_READONLY;
    case Mode::immutable:
      return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    case Mode::memory:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY;
  }
  return 0;
}

}  // namespace

void close(sqlite3* connection) noexcept {
  sqlite3_close_v2(connection);
}
void finalize(sqlite3_stmt* statement) noexcept {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* connection, const std::filesystem::path& file, std::string_view sql)
    : connection_(connection), file_(file) {
  sqlite3_stmt* statement = nullptr;
  const int length = static_cast<int>(sql.size());
  check(sqlite3_prepare_v2(connection, sql.data(), length, &statement, nullptr));
  statement_.reset(statement);
}

void Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, value));
}

void Statement::bind(std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  check(sqlite3_bind_text64(statement_.get(), ++bound_, data, value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}

void Statement::bind(std::optional<std::int64_t> value) {
  if (value) return bind(*value);
  check(sqlite3_bind_null(statement_.get(), ++bound_));
}

bool Statement::step() {
  assert(bound_ == sqlite3_bind_parameter_count(statement_.get()));
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw error_of(sqlite3_extended_errcode(connection_), connection_, file_);
}

std::string Statement::text(int column) const {
  return std::string(view(column));
}

std::string_view Statement::view(int column) const {
  const void* data = sqlite3_column_text(statement_.get(), column);
  const int length = sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(length)};
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::int64_t> Statement::optional_number(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return number(column);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) throw error_of(sqlite3_extended_errcode(connection_), connection_, file_);
}

SqliteConnection::SqliteConnection(const std::filesystem::path& file, Mode mode) : file_(file) {
  const std::string address = mode == Mode::memory      ? ":memory:"
                              : mode == Mode::immutable ? address_of(file)
                                                        : file.string();
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(address.c_str(), &connection, open_flags(mode), nullptr);
  handle_.reset(connection);
  if (connection == nullptr) throw Error(ErrorKind::local, "SQLite found no memory to begin with");
  sqlite3_extended_result_codes(connection, 1);
  if (code != SQLITE_OK) throw error_of(sqlite3_extended_errcode(connection), connection, file_);
  sqlite3_busy_handler(connection, go_on_waiting, waiting_.get());
  sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void SqliteConnection::allow_checkpoints() {
  int keep = 1;
  sqlite3_file_control(handle_.get(), nullptr, SQLITE_FCNTL_PERSIST_WAL, &keep);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

void SqliteConnection::empty_log() {
  sqlite3_busy_handler(handle_.get(), nullptr, nullptr);
  run("PRAGMA wal_checkpoint(TRUNCATE)");
  sqlite3_busy_handler(handle_.get(), go_on_waiting, waiting_.get());
}

/// Sleeps for a moment, and returns 0 once the limit is over. The pauses stay short and differ, so
/// that none of many processes is always later than the others: SQLite's own pauses become longer,
/// and those that have waited longest ask least often.
int SqliteConnection::go_on_waiting(void* waiting, int waited_before) {
  Waiting& wait = *static_cast<Waiting*>(waiting);
  const auto now = std::chrono::steady_clock::now();
  if (waited_before == 0 && lack_of_descriptors() != 0) return 0;
  if (waited_before == 0) wait.since = now;
  if (now - wait.since >= wait.limit) return 0;
  const auto ticks = static_cast<std::uint64_t>(now.time_since_epoch().count());
  std::this_thread::sleep_for(std::chrono::milliseconds(1 + (ticks / 1'000) % 10));
  return 1;
}

std::int64_t SqliteConnection::number(std::string_view sql) {
  Statement statement = query(sql);
  return statement.step() ? statement.number(0) : 0;
}

std::int64_t SqliteConnection::last_row_id() const noexcept {
  return sqlite3_last_insert_rowid(handle_.get());
}

std::int64_t SqliteConnection::all_changes() const noexcept {
  return sqlite3_total_changes64(handle_.get());
}

int SqliteConnection::changes() const noexcept {
  return sqlite3_changes(handle_.get());
}

}  // namespace fastgpu::state::sqlite
