#include "comm/trace/rank_files.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/names.hpp"

namespace fastgpu::comm {
namespace {

/// The divisor of the time between two writes: a write may take that share.
constexpr int kShare = 100;

std::string name_of_file(Rank rank, const std::string& suffix) {
  return "rank-" + std::to_string(rank.value) + suffix;
}

/// Replaces a file. Returns the error if it cannot be written.
std::error_code write_file(const std::string& folder, const std::string& name,
                           const RankFiles::Write& write) {
  const std::string path = folder + "/" + name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
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
std::error_code try_to_write(const std::string& folder, const std::string& name) {
  const std::string scratch = name + ".try";
  const std::error_code error = write_file(folder, scratch, [](std::ostream&) {});
  std::error_code ignored;
  std::filesystem::remove(folder + "/" + scratch, ignored);
  return error;
}

}  // namespace

RankFiles::RankFiles(std::string variable, std::string folder, Rank rank, Warn warn)
    : variable_(std::move(variable)),
      folder_(std::move(folder)),
      rank_(rank),
      warn_(std::move(warn)) {
  const std::string name = name_of_file(rank_, ".json");
  if (is_wanted()) report(try_to_write(folder_, name), name);
}

void RankFiles::write(const std::string& suffix, const Write& write) {
  const std::string name = name_of_file(rank_, suffix);
  if (is_wanted()) report(write_file(folder_, name, write), name);
}

void RankFiles::report(const std::error_code& error, const std::string& name) {
  if (!error || !warn_) return;
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
