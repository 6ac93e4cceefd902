#include "comm/trace/rank_files.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <utility>

#include "base/names.hpp"

namespace fastgpu::comm {
namespace {

/// The divisor of the time between two writes: a write may take that share.
constexpr int kShare = 100;

/// The names of files that sets of gradients of this process have had. All write to the folders of
/// its variables.
class NamesTaken {
 public:
  /// Takes the first of `name`, `name`-2, `name`-3 and so on that none has had: what a set has
  /// written stays when it is closed.
  std::string take(const std::string& name) {
    const std::lock_guard lock(mutex_);
    std::string free = name;
    for (int number = 2; !names_.insert(free).second; ++number)
      free = name + "-" + std::to_string(number);
    return free;
  }

  /// Returns true if no other set with this name leads. It leads until `give_up`.
  bool lead(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return led_.insert(name).second;
  }
  void give_up(const std::string& name) {
    const std::lock_guard lock(mutex_);
    led_.erase(name);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
  std::set<std::string> led_;
};

/// Never destroyed: a program's last set of gradients may be.
NamesTaken& names_taken() {
  static NamesTaken& names = *new NamesTaken;
  return names;
}

/// While it lives, a file that gets larger than this process may write is an error, EFBIG, and no
/// signal that ends the program.
class LargeFilesAreErrors {
 public:
  LargeFilesAreErrors() noexcept {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  LargeFilesAreErrors(const LargeFilesAreErrors&) = delete;
  LargeFilesAreErrors& operator=(const LargeFilesAreErrors&) = delete;
  ~LargeFilesAreErrors() {
    const timespec no_time{};
    while (::sigtimedwait(&signal_, nullptr, &no_time) == SIGXFSZ) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_{};
  sigset_t before_{};
};

/// Replaces a file. Returns the error if it cannot be written.
std::error_code write_file(const std::string& path, const RankFiles::Write& write) {
  const LargeFilesAreErrors large_files;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return error;
  errno = 0;
  std::ofstream fresh(path + ".new");
  if (fresh) write(fresh);
  fresh.close();
  if (fresh) {
    std::filesystem::rename(path + ".new", path, error);
    return error;
  }
  error = {errno == 0 ? EIO : errno, std::generic_category()};
  std::error_code ignored;  // There may be no such file.
  std::filesystem::remove(path + ".new", ignored);
  return error;
}

/// Returns the error that `write_file` would return; writes nothing.
std::error_code try_to_write(const std::string& path) {
  const std::error_code error = write_file(path + ".try", [](std::ostream&) {});
  std::error_code ignored;
  std::filesystem::remove(path + ".try", ignored);
  return error;
}

}  // namespace

RankFiles::RankFiles(std::string variable, std::string folder, Rank rank, Warn warn)
    : variable_(std::move(variable)),
      folder_(std::move(folder)),
      rank_(rank),
      warn_(std::move(warn)) {
  if (!is_wanted()) return;
  first_path_ = folder_ + "/rank-" + std::to_string(rank_.value);
  path_ = names_taken().take(first_path_);
  is_first_ = names_taken().lead(first_path_);  // Before any other that is made later.
  report(try_to_write(path_ + ".json"), path_ + ".json");
}

RankFiles::~RankFiles() {
  if (is_first_) names_taken().give_up(first_path_);
}

void RankFiles::write(const std::string& suffix, const Write& write) {
  if (is_wanted()) replace(path_ + suffix, write);
}

void RankFiles::write_if_first(const std::string& suffix, const Write& write) {
  if (!is_wanted()) return;
  is_first_ = is_first_ || names_taken().lead(first_path_);
  if (is_first_) replace(first_path_ + suffix, write);
}

void RankFiles::replace(const std::string& path, const Write& write) {
  report(write_file(path, write), path);
}

void RankFiles::report(const std::error_code& error, const std::string& path) {
  if (!error || !warn_) return;
  const std::string name = path.substr(folder_.size() + 1);
  std::exchange(warn_, nullptr)(variable_ + " is '" + printable(folder_, 200) + "', but rank " +
                                std::to_string(rank_.value) + " cannot write " + name +
                                " there: " + error.message());
}

void WriteSchedule::write_if_due(const std::function<void()>& write) {
  const auto began = Clock::now();
  if (began < due_) return;
  write();
  const auto ended = Clock::now();
  due_ = ended + std::max(between_, kShare * (ended - began));
}

}  // namespace fastgpu::comm
