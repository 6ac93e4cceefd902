#include "envs/environments/archive_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/units.hpp"

namespace fastgpu::envs {
namespace {

// Packages need up to five times the size of zstd's output.
constexpr std::uint64_t kMostTimes = 100;
constexpr std::uint64_t kHarmless = 256UL << 20;

UniqueFd open_file(const std::filesystem::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) throw Error(ErrorKind::not_found, "no such file");
  if (!fd) throw system_error("opening it", errno);
  return fd;
}

std::uint64_t size_of(const UniqueFd& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw Error(ErrorKind::usage, "it is not a file");
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

ArchiveFile::ArchiveFile(const std::filesystem::path& file, const Cancel& cancel)
    : cancel_(cancel),
      file_(open_file(file)),
      stream_(file_.get()),
      most_(std::max(kHarmless, kMostTimes * size_of(file_))),
      entries_([this](std::span<char> out) { return read(out); }) {}

std::size_t ArchiveFile::read(std::span<char> out) {
  cancel_.check();
  const std::size_t size = stream_.read(out);
  unpacked_ += size;
  if (unpacked_ > most_)
    throw Error(ErrorKind::usage, "it unpacks to more than " + to_string(Bytes{most_}) +
                                      ", which is too much for its size");
  return size;
}

}  // namespace fastgpu::envs
