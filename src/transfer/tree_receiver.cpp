#include "transfer/tree_receiver.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "transfer/paths.hpp"
#include "transfer/publish.hpp"

namespace fastgpu::transfer {
namespace {

namespace fs = std::filesystem;

constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
constexpr mode_t kPrivateMode = S_IRUSR | S_IWUSR;

Error cannot_write(const std::string& path) {
  return system_error("writing " + printable(path), errno);
}

/// Returns true for a block of zeros that is large enough for a hole: those of sparse files, such
/// as images of disks, would else fill the disk.
bool is_zero_block(std::string_view bytes) {
  constexpr std::size_t kSmallestHole = 64UL * 1024;
  return bytes.size() >= kSmallestHole && bytes.front() == '\0' &&
         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

/// Returns a record's path without the name of the source, with which it begins.
std::string path_in_base(const std::string& path) {
  return path.substr(path.find('/') + 1);
}

}  // namespace

fs::path staging_parent(const fs::path& destination) {
  std::error_code ignored;
  const fs::path asked = destination.empty() ? fs::path(".") : destination;
  if (fs::is_directory(asked, ignored)) return asked;
  const fs::path plain = asked.has_filename() ? asked : asked.parent_path();
  return plain.has_parent_path() ? plain.parent_path() : ".";
}

void try_receiving(const fs::path& destination, const Announced& copy) {
  std::error_code unknown;
  const bool must_be_directory = !destination.empty() && !destination.has_filename();
  if (must_be_directory && copy.first != EntryKind::directory &&
      !fs::is_directory(destination, unknown))
    throw Error(ErrorKind::not_found,
                "the directory " + printable(destination.string()) + " does not exist");
  const TreeReceiver trial(destination, copy.count);
  const fs::space_info space = fs::space(staging_parent(destination), unknown);
  if (!unknown && space.available < copy.bytes)
    throw Error(ErrorKind::capacity, "the copy has " + to_string(Bytes{copy.bytes}) + ", and " +
                                         printable(destination.string()) + " has room for " +
                                         to_string(Bytes{space.available}));
}

TreeReceiver::TreeReceiver(const fs::path& destination, SourceCount count,
                           const std::optional<Resumption>& resumption, OnFile on_file,
                           const BaseTree& base)
    : on_file_(std::move(on_file)),
      shown_(escaped(destination.string(), Layout::one_line)),
      base_(base.root.empty() ? -1 : ::open(base.root.c_str(), kDirectoryFlags)),
      known_sum_(base.known_sum) {
  std::error_code ignored;
  const fs::path asked = destination.empty() ? fs::path(".") : destination;
  if (!fs::is_directory(asked, ignored)) {
    const bool slash = !asked.has_filename();
    const fs::path plain = slash ? asked.parent_path() : asked;
    const bool exists = fs::exists(fs::symlink_status(plain, ignored));
    if (count == SourceCount::several || (slash && exists))
      throw Error(exists ? ErrorKind::conflict : ErrorKind::not_found,
                  shown_ + (exists ? " is not a directory" : " does not exist"));
    must_be_directory_ = slash;
    new_name_ = plain.filename().string();
    if (new_name_.empty() || new_name_ == "." || new_name_ == "..")
      throw Error(ErrorKind::not_found, "the directory " + shown_ + " does not exist");
  }
  staging_ = std::make_unique<Staging>(staging_parent(destination),
                                       resumption ? resumption->key : std::string());
  if (resumption) go_on(*resumption);
}

void TreeReceiver::go_on(const Resumption& resumption) {
  if (resumption.from == Position{}) return staging_->clear();
  if (staging_->position() < resumption.from) {
    staging_->keep();
    throw Error(ErrorKind::remote, shown_ +
                                       ": less of the interrupted copy is here than the "
                                       "stream assumes");
  }
  goes_on_ = true;
  files_ = resumption.from.files;
  bytes_kept_ = resumption.from.bytes;
}

void TreeReceiver::feed(std::string_view piece) {
  decoder_.add(piece);
  while (const auto record = decoder_.next()) {
    if (ended_) throw Error(ErrorKind::remote, "the stream of files goes on after its end");
    account_.add(*record);
    std::visit([this](const auto& one) { take(one); }, *record);
  }
}

void TreeReceiver::finish() {
  if (!ended_) {
    staging_->keep();
    throw Error(ErrorKind::transient, "the stream of files was cut off; nothing was changed");
  }
  if (asked_) asked_->check_complete();
  parent_ = UniqueFd();
  finish_directories(staging_->fd(), directories_, {}, Rights::owner_may_write);
  const auto existing = publish(staging_->fd(), staging_->parent_fd());
  std::erase_if(directories_, [](const auto& record) { return (record.mode & 0700U) == 0700U; });
  finish_directories(staging_->parent_fd(), directories_, existing, Rights::as_recorded);
  staging_.reset();
}

/// Returns the entry's path below the staging directory; empty for the staging directory itself.
std::string TreeReceiver::placed(const std::string& path, EntryKind kind) {
  if (file_) throw Error(ErrorKind::remote, "the stream of files leaves out a sum");
  if (!path.empty()) check_inner_path(path);
  if (asked_) asked_->take(path, kind);
  if (new_name_.empty()) return path;
  if (path.empty()) is_content_ = true;
  if (is_content_) return path.empty() ? new_name_ : new_name_ + "/" + path;
  const auto slash = path.find('/');
  const bool top = slash == path.npos;
  if (top && must_be_directory_ && kind != EntryKind::directory)
    throw Error(ErrorKind::not_found, "the directory " + shown_ + " does not exist");
  return top ? new_name_ : new_name_ + path.substr(slash);
}

/// Opens the directory of an entry. Entries come directory by directory, so that the last one can
/// mostly be used again.
int TreeReceiver::open_parent(const std::string& parent) {
  if (parent_path_ != parent) {
    parent_path_.reset();
    parent_ = open_below(staging_->fd(), parent);
    if (!parent_) throw cannot_write(parent);
    parent_path_ = parent;
  }
  return parent_.get();
}

void TreeReceiver::take(const DirectoryRecord& record) {
  DirectoryRecord here = record;
  here.path = placed(record.path, EntryKind::directory);
  if (here.path.empty()) return;  // The content of a directory, which goes into an existing one.
  const auto [parent, name] = split_path(here.path);
  if (::mkdirat(open_parent(parent), name.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    throw cannot_write(here.path);
  const auto [known, is_new] = directory_at_.emplace(here.path, directories_.size());
  if (is_new)
    directories_.push_back(std::move(here));
  else
    // The directory was sent before, for a file that was sent first.
    directories_[known->second] = std::move(here);
}

void TreeReceiver::take(const FileRecord& record) {
  File file{UniqueFd(), record};
  file.record.path = placed(record.path, EntryKind::file);
  staging_->note(files_, file.record.path);
  if (const std::uint64_t kept = std::exchange(bytes_kept_, 0); kept > 0)
    file.fd = open_kept(file.record.path, kept);
  else
    file.sum.emplace();
  file_ = std::move(file);
}

/// Returns the descriptor of the received file. It is created only once it is certain that it does
/// not become a link into the base.
int TreeReceiver::own_fd() {
  if (!file_->fd) file_->fd = open_file(file_->record.path);
  return file_->fd.get();
}

/// Opens the file that an interrupted copy has left, with any mode. It is checked before it is
/// changed, because another file might have the name by now.
UniqueFd TreeReceiver::open_kept(const std::string& path, std::uint64_t kept) {
  const auto [parent, name] = split_path(path);
  const UniqueFd found(
      ::openat(open_parent(parent), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!found || ::fstat(found.get(), &info) != 0) throw cannot_write(path);
  if (!S_ISREG(info.st_mode) || info.st_nlink != 1)
    throw Error(ErrorKind::conflict, printable(path) + " is no longer the file that was kept");
  const std::string itself = "/proc/self/fd/" + std::to_string(found.get());
  ::chmod(itself.c_str(), kPrivateMode);  // It may have been complete, and read-only.
  UniqueFd fd(::open(itself.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  const auto size = static_cast<off_t>(kept);
  if (!fd || ::ftruncate(fd.get(), size) != 0 || ::lseek(fd.get(), size, SEEK_SET) != size)
    throw cannot_write(path);
  return fd;
}

UniqueFd TreeReceiver::open_file(const std::string& path) {
  const auto [parent, name] = split_path(path);
  const int at = open_parent(parent);
  UniqueFd fd(::openat(at, name.c_str(), kFlags | O_CREAT | O_EXCL, kPrivateMode));
  if (!fd &&
      errno ==
          EEXIST) {  // Two sources have this name, and the later one wins; or the file was kept.
    ::unlinkat(at, name.c_str(), 0);
    fd = UniqueFd(::openat(at, name.c_str(), kFlags | O_CREAT | O_EXCL, kPrivateMode));
  }
  if (!fd) throw cannot_write(path);
  return fd;
}

/// Leaves the next bytes of the file out of the disk. They read as zeros.
void TreeReceiver::leave_hole(std::size_t bytes) {
  const off_t end = ::lseek(own_fd(), static_cast<off_t>(bytes), SEEK_CUR);
  // The size is set at once: the size of an interrupted copy is how much of it is here.
  if (end < 0 || ::ftruncate(own_fd(), end) != 0) throw cannot_write(file_->record.path);
}

void TreeReceiver::take(const BlockRecord& record) {
  if (!file_) throw Error(ErrorKind::remote, "the stream of files has content outside of a file");
  if (file_->is_link)
    throw Error(ErrorKind::remote, "the stream of files has content after that of its base");
  file_->has_content = true;
  if (file_->sum) file_->sum->add(record.bytes);
  if (is_zero_block(record.bytes))
    leave_hole(record.bytes.size());
  else
    write_all(own_fd(), record.bytes, "writing " + printable(file_->record.path));
  bytes_ += record.bytes.size();
}

/// Returns the directory in the base; -1 if the base has no such directory.
int TreeReceiver::open_base_parent(const std::string& parent) {
  if (base_ && base_parent_path_ != parent) {
    base_parent_ = open_below(base_.get(), parent);
    base_parent_path_ = parent;
  }
  return base_parent_.get();
}

UniqueFd TreeReceiver::open_in_base(const std::string& path) {
  const auto [parent, name] = split_path(path_in_base(path));
  constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int there = open_base_parent(parent);
  UniqueFd fd(there < 0 ? -1 : ::openat(there, name.c_str(), kRead));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    throw Error(ErrorKind::remote, printable(path) + " is missing here from the files to reuse");
  return fd;
}

bool TreeReceiver::has_shape_of_record(const struct stat& there) const {
  const FileRecord& record = file_->record;
  const timespec modified = as_timespec(record.modified);
  return S_ISREG(there.st_mode) && (there.st_mode & 07777) == permission_bits(record.mode) &&
         there.st_mtim.tv_sec == modified.tv_sec && there.st_mtim.tv_nsec == modified.tv_nsec;
}

/// Links the file by its known checksum, without reading it. Returns false if the file must be read
/// or cannot be linked.
bool TreeReceiver::become_link_unread() {
  if (!known_sum_) return false;
  const std::string inner = path_in_base(file_->record.path);
  const auto [base_parent, name] = split_path(inner);
  const int there = open_base_parent(base_parent);
  struct stat info {};
  if (there < 0 || ::fstatat(there, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !has_shape_of_record(info))
    return false;
  const auto sum = known_sum_(inner, info);
  const int at = sum ? open_parent(split_path(file_->record.path).first) : -1;
  if (!sum || ::linkat(there, name.c_str(), at, name.c_str(), 0) != 0) return false;
  file_->known = sum;
  file_->size = static_cast<std::uint64_t>(info.st_size);
  return true;
}

/// Returns false if the file in the base has another mode or time, or the file system does not
/// support links.
bool TreeReceiver::become_link_to(int there) {
  const FileRecord& record = file_->record;
  struct stat info {};
  if (::fstat(there, &info) != 0 || !has_shape_of_record(info)) return false;
  file_->size = static_cast<std::uint64_t>(info.st_size);
  const auto [parent, name] = split_path(record.path);
  const int at = open_parent(parent);
  const std::string source = "/proc/self/fd/" + std::to_string(there);
  const auto link = [at, &source, &name = name] {
    return ::linkat(AT_FDCWD, source.c_str(), at, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  return link() || (errno == EEXIST && ::unlinkat(at, name.c_str(), 0) == 0 && link());
}

void TreeReceiver::take(const SameRecord&) {
  if (!file_ || !file_->sum || file_->has_content)
    throw Error(ErrorKind::remote, "the stream of files takes no whole file from its base");
  file_->has_content = true;
  file_->is_link = become_link_unread();
  if (file_->is_link) return;
  const UniqueFd there = open_in_base(file_->record.path);
  file_->is_link = become_link_to(there.get());
  const int copy = file_->is_link ? -1 : own_fd();
  file_->known = sum_of_file(there.get(), file_->record.path, [&](std::string_view bytes) {
    if (copy >= 0) write_all(copy, bytes, "writing " + printable(file_->record.path));
  });
}

/// Returns the checksum of the file's actual content. If a part was kept, the file is read again.
Digest TreeReceiver::sum_of_content() {
  if (file_->known) return *file_->known;
  return file_->sum ? file_->sum->finish() : sum_of_file(own_fd(), file_->record.path);
}

std::uint64_t TreeReceiver::size_of_content() {
  if (file_->is_link) return file_->size;
  struct stat info {};
  if (::fstat(own_fd(), &info) != 0) throw cannot_write(file_->record.path);
  return static_cast<std::uint64_t>(info.st_size);
}

void TreeReceiver::check_content(const Digest& expected) {
  const std::string& path = file_->record.path;
  const Digest found = sum_of_content();
  if (found != expected)
    throw Error(ErrorKind::remote, printable(path) +
                                       " has another SHA-256 than when it was sent: it "
                                       "changed on the way, or while it was read");
  if (on_file_) on_file_({path, permission_bits(file_->record.mode), size_of_content(), found});
}

void TreeReceiver::take(const SumRecord& record) {
  if (!file_) throw Error(ErrorKind::remote, "the stream of files has a sum outside of a file");
  check_content(record.digest);
  if (file_->is_link) return end_file();
  const timespec modified = as_timespec(file_->record.modified);
  const timespec times[2] = {modified, modified};
  if (::fchmod(own_fd(), permission_bits(file_->record.mode)) != 0 ||
      ::futimens(own_fd(), times) != 0)
    throw cannot_write(file_->record.path);
  end_file();
}

void TreeReceiver::end_file() {
  file_.reset();
  staging_->note(++files_, "");
}

void TreeReceiver::take(const LinkRecord& record) {
  const std::string path = placed(record.path, EntryKind::link);
  const auto [parent, name] = split_path(path);
  const int at = open_parent(parent);
  if (goes_on_) ::unlinkat(at, name.c_str(), 0);
  if (::symlinkat(record.target.c_str(), at, name.c_str()) != 0) throw cannot_write(path);
  const timespec modified = as_timespec(record.modified);
  const timespec times[2] = {modified, modified};
  // Some file systems do not support it.
  ::utimensat(at, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

void TreeReceiver::take(const EndRecord&) {
  if (file_) throw Error(ErrorKind::remote, "the stream of files leaves out a sum");
  ended_ = true;
}

void TreeReceiver::take(const GivenUpRecord&) {
  throw Error(ErrorKind::remote, "the sender gave up the copy");
}

void TreeReceiver::take(const AliveRecord&) {}

}  // namespace fastgpu::transfer
