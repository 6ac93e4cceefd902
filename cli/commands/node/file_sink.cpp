#include "cli/commands/node/file_sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/chosen_place.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;
using remote::OutputChannel;

Error is_there(const fs::path& path) {
  return {ErrorKind::conflict, "'" + path.string() + "' exists: name another directory"};
}

void refuse_existing(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) throw is_there(path);
  if (errno != ENOENT) throw system_error("looking at " + path.string(), errno);
}

UniqueFd make_file(const fs::path& path) {
  UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file && errno == EEXIST) throw is_there(path);
  if (!file) throw system_error("making " + path.string(), errno);
  return file;
}

/// Opens the file for one write. It is closed afterwards, because a thousand hosts have more files
/// than a process may have open.
UniqueFd open_file(const fs::path& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC));
  if (!file) throw system_error("opening " + path.string(), errno);
  return file;
}

}  // namespace

FileSink::FileSink(fs::path directory, std::vector<std::string> names)
    : directory_(std::move(directory)), names_(std::move(names)), has_errors_(names_.size()) {
  std::error_code failure;
  fs::create_directory(directory_, failure);
  if (failure == std::errc::file_exists || failure == std::errc::not_a_directory)
    throw Error(ErrorKind::usage, "'" + directory_.string() + "' is not a directory");
  if (failure)
    throw Error(
        unusable({.name = "--outdir", .path = directory_, .choice = "choose another directory"},
                 system_error("making the directory " + directory_.string(), failure.value())));
  for (std::size_t host = 0; host < names_.size(); ++host)
    for (const OutputChannel channel : {OutputChannel::out, OutputChannel::err})
      refuse_existing(file(host, channel));
  for (std::size_t host = 0; host < names_.size(); ++host)
    make_file(file(host, OutputChannel::out));
}

fs::path FileSink::file(std::size_t host, OutputChannel channel) const {
  return directory_ / (names_[host] + (channel == OutputChannel::err ? ".err" : ""));
}

void FileSink::output(std::size_t host, OutputChannel channel, std::string_view text) {
  if (text.empty()) return;
  const fs::path path = file(host, channel);
  const bool is_new = channel == OutputChannel::err && !has_errors_[host];
  const UniqueFd opened = is_new ? make_file(path) : open_file(path);
  if (is_new) has_errors_[host] = true;
  write_all(opened.get(), text, "writing " + path.string());
}

}  // namespace fastgpu::cli
