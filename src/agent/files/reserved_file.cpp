#include "agent/files/reserved_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "agent/files/disk.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {

ReservedFile::ReservedFile(std::filesystem::path path)
    : path_(std::move(path)),
      place_(path_.string() + ".reserved"),
      file_(::open(place_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (!file_) throw disk_error("making", path_, errno);
  const int trouble = ::posix_fallocate(file_.get(), 0, kRoom);
  if (trouble != ENOSPC && trouble != EDQUOT && trouble != EFBIG)
    return;  // Other errors, such as a file system that does not support it, are ignored.
  ::unlink(place_.c_str());
  throw disk_error("making", path_, trouble);
}

ReservedFile::~ReservedFile() {
  if (file_) ::unlink(place_.c_str());
}

void ReservedFile::commit(std::string_view content) {
  content = content.substr(0, kRoom);
  write_all(file_.get(), content);
  if (::ftruncate(file_.get(), static_cast<off_t>(content.size())) != 0 ||
      ::rename(place_.c_str(), path_.c_str()) != 0)
    throw disk_error("making", path_, errno);
  file_ = UniqueFd();
}

}  // namespace fastgpu::agent
