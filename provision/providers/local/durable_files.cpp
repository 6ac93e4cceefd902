#include "provision/providers/local/durable_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/unique_fd.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;

void sync_folder(const fs::path& path) {
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

}  // namespace

void replace_file(const fs::path& path, std::string_view text, mode_t mode, Durability durability) {
  const fs::path draft = path.string() + ".new";
  {
    const UniqueFd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (!file) throw system_error("writing " + draft.string(), errno);
    ::fchmod(file.get(), mode);
    write_all(file.get(), text, "writing " + draft.string());
    if (durability == Durability::on_disk && ::fsync(file.get()) != 0)
      throw system_error("writing " + draft.string(), errno);
  }
  if (::rename(draft.c_str(), path.c_str()) != 0)
    throw system_error("writing " + path.string(), errno);
  if (durability == Durability::on_disk) sync_folder(path.parent_path());
}

void make_private_folder(const fs::path& path) {
  if (path.has_parent_path() && !path_exists(path.parent_path()))
    make_private_folder(path.parent_path());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw system_error("making " + path.string(), errno);
}

std::vector<std::string> folders_in(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error))
    if (entry.symlink_status().type() == fs::file_type::directory)
      names.push_back(entry.path().filename().string());
  if (error && error != std::errc::no_such_file_or_directory)
    throw system_error("reading " + path.string(), error.value());
  std::ranges::sort(names);
  return names;
}

}  // namespace fastgpu::provision::local
