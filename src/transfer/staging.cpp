#include "transfer/staging.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <random>
#include <vector>

#include "base/c_handle.hpp"
#include "base/error.hpp"

namespace fastgpu::transfer {
namespace {

constexpr std::string_view kMarker = ".fastgpu-copy-";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::vector<std::string> names_in(int fd) {
  const int own = ::openat(fd, ".", kDirectory);
  const CHandle<DIR, ::closedir> dir(own < 0 ? nullptr : ::fdopendir(own));
  std::vector<std::string> names;
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr)
    names.emplace_back(entry->d_name);
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  return names;
}

void remove_leftovers(int parent) {
  for (const std::string& name : names_in(parent)) {
    if (!name.starts_with(kMarker)) continue;
    const UniqueFd left(::openat(parent, name.c_str(), kDirectory));
    if (left && ::flock(left.get(), LOCK_EX | LOCK_NB) == 0) remove_tree(parent, name);
  }
}

std::string random_name() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string name(kMarker);
  for (int i = 0; i < 12; ++i)
    name += kLetters[random() % kLetters.size()];
  return name;
}

}  // namespace

void remove_tree(int parent, const std::string& name) noexcept try {
  if (::unlinkat(parent, name.c_str(), 0) == 0) return;
  if (const UniqueFd directory(::openat(parent, name.c_str(), kDirectory)); directory) {
    ::fchmod(directory.get(), S_IRWXU);
    for (const std::string& inner : names_in(directory.get()))
      remove_tree(directory.get(), inner);
  }
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
} catch (...) {
  return;  // No memory: it stays for the next copy to remove.
}

Staging::Staging(const std::filesystem::path& parent)
    : parent_(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), shown_(parent.string()) {
  if (!parent_ && errno == ENOENT)
    throw Error(ErrorKind::not_found, "the directory " + shown_ + " does not exist");
  if (!parent_) throw system_error("opening the directory " + shown_, errno);
  remove_leftovers(parent_.get());
  while (!make_locked()) {
  }
}

/// False where another copy took ours for a leftover, before it had its lock.
bool Staging::make_locked() {
  name_ = random_name();
  if (::mkdirat(parent_.get(), name_.c_str(), S_IRWXU) != 0)
    throw system_error("writing into " + shown_, errno);
  directory_ = UniqueFd(::openat(parent_.get(), name_.c_str(), kDirectory));
  if (!directory_ && errno == ENOENT) return false;
  if (!directory_ || ::flock(directory_.get(), LOCK_EX) != 0)
    throw system_error("writing into " + shown_, errno);
  struct stat info {};
  return ::fstat(directory_.get(), &info) == 0 && info.st_nlink > 0;
}

Staging::~Staging() {
  remove_tree(parent_.get(), name_);
}

}  // namespace fastgpu::transfer
