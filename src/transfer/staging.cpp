#include "transfer/staging.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/utf8.hpp"
#include "transfer/own_directory.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::transfer {
namespace {

constexpr const char* kTree = "tree";
constexpr const char* kNotes = "notes";
constexpr std::size_t kMostNotes = 8192;  // Enough for a path and the numbers.
constexpr std::chrono::hours kKept{24};
/// How long to wait for an interrupted copy that has not noticed the interruption yet.
constexpr std::chrono::milliseconds kTimeout{3'000};
constexpr std::chrono::milliseconds kBetweenTries{10};
constexpr int kMostTries = 100;  // A limit, because another user might take or remove every name.

std::string marked(std::string_view rest) {
  return std::string(kCopyMarker).append(rest);
}

/// Returns true if the copy has notes that are recent enough for resuming it.
bool may_go_on(int directory) {
  struct stat info {};
  return ::fstatat(directory, kNotes, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         std::chrono::system_clock::from_time_t(info.st_mtime) + kKept >
             std::chrono::system_clock::now();
}

/// Removes this user's copies that have ended and for which `is_wanted` returns false, except for
/// `own`.
template <class IsWanted>
void remove_copies(int parent, const std::string& own, const IsWanted& is_wanted) {
  for (const std::string& name : names_in_directory(parent)) {
    if (!name.starts_with(kCopyMarker) || name == marked(own)) continue;
    const UniqueFd left = open_own_directory(parent, name);
    if (!left || ::flock(left.get(), LOCK_EX | LOCK_NB) != 0 || is_wanted(name, left.get()))
      continue;
    remove_content(left.get());
    ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
  }
}

/// Removes other copies that are not needed any more. An older copy to the same destination as
/// `own` is obsolete.
void remove_leftovers(int parent, const std::string& own) try {
  const std::string place = marked(own.substr(0, std::min(own.size(), kPlaceDigits)));
  remove_copies(parent, own, [&](const std::string& name, int left) {
    const bool is_replaced = !own.empty() && name.starts_with(place);
    return may_go_on(left) && !is_replaced;
  });
} catch (const Error&) {
  return;  // Writing may be allowed here although listing is not.
}

bool is_linked(int directory) {
  struct stat info {};
  return ::fstat(directory, &info) == 0 && info.st_nlink > 0;
}

bool lock_within(std::chrono::milliseconds timeout, int directory) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (::flock(directory, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return true;
}

/// Returns an id of the present boot: written data is certain to exist only until a power failure.
const std::string& this_boot() {
  static const std::string id = first_line_of("/proc/sys/kernel/random/boot_id");
  return id;
}

struct Notes {
  std::uint64_t files = 0;
  std::string path{};
};

/// Returns true for a regular file of this user with a single name. Other files are never written.
bool is_own_file(int file) noexcept {
  struct stat info {};
  return ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
         info.st_nlink == 1;
}

/// Returns the notes of the present boot; absent without such notes.
std::optional<Notes> read_notes(int directory) {
  const UniqueFd file(::openat(directory, kNotes, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::string text(kMostNotes, '\0');
  const bool is_ours = file && is_own_file(file.get());
  const ssize_t size = is_ours ? ::pread(file.get(), text.data(), text.size(), 0) : -1;
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
  const UniqueFd tree = open_own_directory(directory, kTree);
  const auto notes = read_notes(directory);
  if (!tree || !notes || !is_inner_path(notes->path.empty() ? "-" : notes->path)) return {};
  Position position{.files = notes->files, .bytes = 0};
  if (notes->path.empty()) return position;
  const auto [folder, name] = split_path(notes->path);
  const UniqueFd inside = open_below(tree.get(), folder);
  struct stat info {};
  if (inside && ::fstatat(inside.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      // Files of other users, or with several names, are not changed.
      S_ISREG(info.st_mode) && info.st_nlink == 1)
    position.bytes = static_cast<std::uint64_t>(info.st_size);
  return position;
}

std::string shown_of(const std::filesystem::path& path) {
  return escaped(path.string(), Layout::one_line);
}

UniqueFd open_parent(const std::filesystem::path& parent) {
  UniqueFd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == ENOENT)
    throw Error(ErrorKind::not_found, "the directory " + shown_of(parent) + " does not exist");
  if (!fd) throw system_error("opening the directory " + shown_of(parent), errno);
  return fd;
}

}  // namespace

void drop_kept_copies(const std::filesystem::path& parent) noexcept try {
  const UniqueFd directory(::open(parent.c_str(), kDirectoryFlags));
  if (directory) remove_copies(directory.get(), {}, [](const std::string&, int) { return false; });
} catch (...) {
  return;  // Out of memory: the next copy removes them.
}

Staging::Staging(const std::filesystem::path& parent, const std::string& key)
    : Staging(open_parent(parent), shown_of(parent), key) {}

Staging::Staging(UniqueFd parent, const std::string& shown, const std::string& key)
    : parent_(std::move(parent)), shown_(shown), key_(key) {
  remove_leftovers(parent_.get(), key_);
  if (!take_up()) {
    key_.clear();
    make_unnamed();
  }
  open_tree();
}

/// Returns false without a key, if another copy holds the lock for the key, or if something else
/// has its name.
bool Staging::take_up() {
  if (key_.empty()) return false;
  name_ = marked(key_);
  directory_ = open_own_directory(parent_.get(), name_);
  if (!directory_) return make_locked(name_);
  return ::flock(directory_.get(), LOCK_EX | LOCK_NB) == 0 && is_linked(directory_.get());
}

void Staging::make_unnamed() {
  for (int tries = 0; tries < kMostTries; ++tries)
    if (make_locked(unused_name())) return;
  throw Error(ErrorKind::denied,
              "writing into " + shown_ + ": what is made there does not stay ours");
}

/// Returns false if the name was taken or the directory was removed again: by another user, or by a
/// copy that took it for a leftover before it was locked.
bool Staging::make_locked(const std::string& name) {
  name_ = name;
  directory_ = make_own_directory(parent_.get(), name_, shown_);
  if (!directory_) return false;
  if (::flock(directory_.get(), LOCK_EX) != 0) throw system_error("locking in " + shown_, errno);
  return is_linked(directory_.get());
}

void Staging::open_tree() {
  if (::mkdirat(directory_.get(), kTree, S_IRWXU) != 0 && errno != EEXIST)
    throw system_error("writing into " + shown_, errno);
  tree_ = UniqueFd(::openat(directory_.get(), kTree, kDirectoryFlags));
  if (!tree_) throw system_error("writing into " + shown_, errno);
}

void Staging::note(std::uint64_t files, const std::string& path) {
  if (key_.empty()) return;
  const std::string text =
      this_boot() + "\n" + std::to_string(files) + " " + std::to_string(path.size()) + "\n" + path;
  if (!notes_)
    notes_ = UniqueFd(::openat(directory_.get(), kNotes,
                               O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                               S_IRUSR | S_IWUSR));
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
  if (is_kept_) return;
  tree_ = UniqueFd();
  notes_ = UniqueFd();
  remove_content(directory_.get());
  ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
}

Position kept_position(const std::filesystem::path& parent, const std::string& key) {
  const UniqueFd above(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd directory = above ? open_own_directory(above.get(), marked(key)) : UniqueFd();
  if (!directory || !lock_within(kTimeout, directory.get())) return {};
  return position_in(directory.get());
}

}  // namespace fastgpu::transfer
