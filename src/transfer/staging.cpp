#include "transfer/staging.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::transfer {
namespace {

constexpr std::string_view kMarker = ".fastgpu-copy-";
constexpr const char* kTree = "tree";
constexpr const char* kNotes = "notes";
constexpr std::size_t kMostNotes = 8192;  // A path, and a little.
constexpr std::chrono::hours kKept{24};
/// For a copy that was cut off, and has not noticed yet.
constexpr std::chrono::milliseconds kPatience{3'000};
constexpr std::chrono::milliseconds kBetweenTries{10};
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string marked(std::string_view rest) {
  return std::string(kMarker).append(rest);
}

std::vector<std::string> names_in(int fd) {
  const int own = ::openat(fd, ".", kDirectory);
  const CHandle<DIR, ::closedir> dir(own < 0 ? nullptr : ::fdopendir(own));
  std::vector<std::string> names;
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr)
    names.emplace_back(entry->d_name);
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  return names;
}

/// Notes say that somebody may come back for it.
bool may_go_on(int directory) {
  struct stat info {};
  return ::fstatat(directory, kNotes, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         std::chrono::system_clock::from_time_t(info.st_mtime) + kKept >
             std::chrono::system_clock::now();
}

/// Of copies that have ended, those of which `is_wanted` does not hold; `own` is not looked at.
template <class IsWanted>
void remove_copies(int parent, const std::string& own, const IsWanted& is_wanted) {
  for (const std::string& name : names_in(parent)) {
    if (!name.starts_with(kMarker) || name == marked(own)) continue;
    const UniqueFd left(::openat(parent, name.c_str(), kDirectory));
    if (left && ::flock(left.get(), LOCK_EX | LOCK_NB) == 0 && !is_wanted(name, left.get()))
      remove_tree(parent, name);
  }
}

/// Of other copies. What was to come to the same place as `own` is no longer wanted.
void remove_leftovers(int parent, const std::string& own) {
  const std::string place = marked(own.substr(0, std::min(own.size(), kPlaceDigits)));
  remove_copies(parent, own, [&](const std::string& name, int left) {
    const bool is_replaced = !own.empty() && name.starts_with(place);
    return may_go_on(left) && !is_replaced;
  });
}

bool is_linked(int directory) {
  struct stat info {};
  return ::fstat(directory, &info) == 0 && info.st_nlink > 0;
}

bool lock_within(std::chrono::milliseconds patience, int directory) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(directory, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return true;
}

/// What has been written is there only as long as nobody pulls the plug.
const std::string& this_boot() {
  static const std::string id = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string line;
    std::getline(file, line);
    return line;
  }();
  return id;
}

struct Notes {
  std::uint64_t files = 0;
  std::string path{};
};

/// Absent where there are none of this boot.
std::optional<Notes> read_notes(int directory) {
  const UniqueFd file(::openat(directory, kNotes, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::string text(kMostNotes, '\0');
  const ssize_t size = file ? ::pread(file.get(), text.data(), text.size(), 0) : -1;
  if (size <= 0) return std::nullopt;
  std::istringstream lines(text.substr(0, static_cast<std::size_t>(size)));
  std::string boot;
  Notes notes;
  std::size_t length = 0;
  if (!std::getline(lines, boot) || boot != this_boot() || !(lines >> notes.files >> length) ||
      length > kMostNotes || lines.get() != '\n')
    return std::nullopt;
  notes.path.resize(length);
  if (!lines.read(notes.path.data(), static_cast<std::streamsize>(length))) return std::nullopt;
  return notes;
}

Position position_in(int directory) {
  const UniqueFd tree(::openat(directory, kTree, kDirectory));
  const auto notes = read_notes(directory);
  if (!tree || !notes) return {};
  Position position{.files = notes->files, .bytes = 0};
  if (notes->path.empty()) return position;
  const auto [folder, name] = split_path(notes->path);
  const UniqueFd inside = open_below(tree.get(), folder);
  struct stat info {};
  if (inside && ::fstatat(inside.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(info.st_mode) && info.st_nlink == 1)  // Others are not ours to write into.
    position.bytes = static_cast<std::uint64_t>(info.st_size);
  return position;
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

void drop_kept_copies(const std::filesystem::path& parent) noexcept try {
  const UniqueFd directory(::open(parent.c_str(), kDirectory));
  if (directory) remove_copies(directory.get(), {}, [](const std::string&, int) { return false; });
} catch (...) {
  return;  // No memory: they stay for the next copy to remove.
}

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

Staging::Staging(const std::filesystem::path& parent, const std::string& key)
    : parent_(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      shown_(parent.string()),
      key_(key) {
  if (!parent_ && errno == ENOENT)
    throw Error(ErrorKind::not_found, "the directory " + shown_ + " does not exist");
  if (!parent_) throw system_error("opening the directory " + shown_, errno);
  remove_leftovers(parent_.get(), key_);
  if (!take_up()) {
    key_.clear();
    while (!make_locked(random_name())) {
    }
  }
  open_tree();
}

/// False without a key, and where another copy has the one with that key.
bool Staging::take_up() {
  if (key_.empty()) return false;
  name_ = marked(key_);
  directory_ = UniqueFd(::openat(parent_.get(), name_.c_str(), kDirectory));
  if (!directory_) return make_locked(name_);
  return ::flock(directory_.get(), LOCK_EX | LOCK_NB) == 0 && is_linked(directory_.get());
}

/// False where another copy was quicker: made one of this name, or took ours for a leftover before
/// it had its lock.
bool Staging::make_locked(const std::string& name) {
  name_ = name;
  if (::mkdirat(parent_.get(), name_.c_str(), S_IRWXU) != 0) {
    if (errno == EEXIST) return false;
    throw system_error("writing into " + shown_, errno);
  }
  directory_ = UniqueFd(::openat(parent_.get(), name_.c_str(), kDirectory));
  if (!directory_ && errno == ENOENT) return false;
  if (!directory_ || ::flock(directory_.get(), LOCK_EX) != 0)
    throw system_error("writing into " + shown_, errno);
  return is_linked(directory_.get());
}

void Staging::open_tree() {
  if (::mkdirat(directory_.get(), kTree, S_IRWXU) != 0 && errno != EEXIST)
    throw system_error("writing into " + shown_, errno);
  tree_ = UniqueFd(::openat(directory_.get(), kTree, kDirectory));
  if (!tree_) throw system_error("writing into " + shown_, errno);
}

void Staging::note(std::uint64_t files, const std::string& path) {
  if (key_.empty()) return;
  const std::string text =
      this_boot() + "\n" + std::to_string(files) + " " + std::to_string(path.size()) + "\n" + path;
  if (!notes_)
    notes_ = UniqueFd(::openat(directory_.get(), kNotes,
                               O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!notes_ || ::pwrite(notes_.get(), text.data(), text.size(), 0) < 0)
    throw system_error("writing into " + shown_, errno);
}

Position Staging::position() const {
  return position_in(directory_.get());
}

void Staging::clear() {
  tree_ = UniqueFd();
  notes_ = UniqueFd();
  remove_tree(directory_.get(), kTree);
  ::unlinkat(directory_.get(), kNotes, 0);
  open_tree();
}

Staging::~Staging() {
  if (!is_kept_) remove_tree(parent_.get(), name_);
}

Position kept_position(const std::filesystem::path& parent, const std::string& key) {
  const std::string name = marked(key);
  const UniqueFd directory(::open((parent / name).c_str(), kDirectory));
  if (!directory || !lock_within(kPatience, directory.get())) return {};
  return position_in(directory.get());
}

}  // namespace fastgpu::transfer
