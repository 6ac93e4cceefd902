#include "transfer/tree_sender.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/c_handle.hpp"
#include "base/error.hpp"
#include "base/utf8.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::transfer {
namespace {

constexpr std::size_t kPiece = 256UL * 1024;
constexpr std::size_t kRead = 128UL * 1024;
constexpr std::size_t kMostNotSent = 1000;
// The maximum number of steps without output before others have their turn.
constexpr int kMostSteps = 64;

FileTime time_of(const struct stat& info) {
  return FileTime{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// The name of a file may have any bytes. Messages keep all of it, but in one line.
std::string in_message(const std::string& shown) {
  return escaped(shown, Layout::one_line);
}

Error cannot_read(const std::string& shown, int error_number) {
  if (error_number == ENOENT) return {ErrorKind::not_found, in_message(shown) + " does not exist"};
  return system_error("reading " + in_message(shown), error_number);
}

Error no_source(const std::string& shown) {
  return {ErrorKind::usage, in_message(shown) + " is neither a file nor a directory"};
}

std::vector<std::string> names_in(int fd, const std::string& shown) {
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  const CHandle<DIR, ::closedir> dir(own < 0 ? nullptr : ::fdopendir(own));
  if (!dir) throw cannot_read(shown, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  if (errno != 0) throw cannot_read(shown, errno);
  std::ranges::sort(names);
  return names;
}

/// Returns true for a directory that no copy may contain.
bool is_kept(const KeptHere& kept_here, const std::filesystem::path& path,
             const std::filesystem::file_status& status) {
  struct stat info {};
  return std::filesystem::is_directory(status) && ::lstat(path.c_str(), &info) == 0 &&
         kept_here.has(info);
}

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "/" + name;
}

}  // namespace

void FileSum::add(std::uint64_t offset, std::string_view bytes) {
  if (digest_ || offset > added_ || offset + bytes.size() <= added_) return;
  bytes.remove_prefix(static_cast<std::size_t>(added_ - offset));
  sum_.add(bytes);
  added_ += bytes.size();
}

Digest FileSum::finish() {
  if (!digest_) digest_ = sum_.finish();
  return *digest_;
}

std::shared_ptr<FileSum> FileSums::at(const std::string& file) {
  std::erase_if(sums_, [](const auto& item) { return item.second.expired(); });
  if (const auto found = sums_.find(file); found != sums_.end()) return found->second.lock();
  auto made = std::make_shared<FileSum>();
  sums_.emplace(file, made);
  return made;
}

TreeSender::TreeSender(std::vector<std::filesystem::path> sources, std::shared_ptr<FileSums> sums,
                       const Position& from, InBase in_base, FirstFiles first, OnSent on_sent)
    : sources_(std::move(sources)),
      sums_(std::move(sums)),
      block_(kRead, '\0'),
      from_(from),
      in_base_(std::move(in_base)),
      first_(std::move(first)),
      on_sent_(std::move(on_sent)) {}

std::optional<std::string> TreeSender::next() {
  if (ended_) return std::nullopt;
  std::string out;
  out.reserve(kPiece + kRead);
  waits_ = false;
  for (int steps = 0; !ended_ && !waits_ && out.size() < kPiece && steps < kMostSteps; ++steps)
    step(out);
  return pack_records(std::move(out), packer_);
}

void TreeSender::step(std::string& out) {
  if (file_) {
    send_block(out);
  } else if (first_) {
    step_first(out);
  } else if (!open_.empty()) {
    Directory& directory = open_.back();
    if (directory.next == directory.names.size()) {
      open_.pop_back();
      return;
    }
    const std::string name = std::move(directory.names[directory.next++]);
    begin_entry(out, directory.fd.get(), name, joined(directory.path, name),
                directory.shown + "/" + name, O_NOFOLLOW);
  } else if (next_source_ < sources_.size()) {
    begin_source(out, sources_[next_source_++]);
  } else {
    give(out, EndRecord{});
    ended_ = true;
  }
}

void TreeSender::give(std::string& out, const Record& record) {
  encode(out, record);
  account_.add(record);
}

void TreeSender::begin_source(std::string& out, const std::filesystem::path& source) {
  kept_here_.check_source(source);
  top_ = top_name(source);
  begin_entry(out, AT_FDCWD, source.string(), top_, source.string(), 0);
}

TreeSender::Stamp TreeSender::stamp_of(const struct stat& info) {
  return {info.st_ino, info.st_size, info.st_mode, time_of(info)};
}

void TreeSender::step_first(std::string& out) {
  const FirstFile file = first_(out.empty());
  if (file.path) begin_first(out, *file.path);
  waits_ = !file.path && !file.is_over;
  if (file.is_over) first_ = nullptr;
}

/// Sends one of the first files. Skips a file that has disappeared.
void TreeSender::begin_first(std::string& out, const std::string& path) {
  const std::filesystem::path& source = sources_.front();
  if (!root_) root_ = UniqueFd(::open(source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root_) throw cannot_read(source.string(), errno);
  struct stat info {};
  if (::fstatat(root_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(info.st_mode))
    return;
  const std::string here = joined(top_name(source), path);
  encode_parents(out, path);
  begin_entry(out, root_.get(), path, here, source.string() + "/" + path, O_NOFOLLOW);
  sent_first_[here] = stamp_of(info);
}

/// Sends the directories that lead to `path`, each once, beginning with that of the source.
void TreeSender::encode_parents(std::string& out, const std::string& path) {
  const std::string top = top_name(sources_.front());
  for (std::size_t end = 0; end != std::string::npos; end = path.find('/', end + 1)) {
    const std::string parent = path.substr(0, end);
    const std::string here = parent.empty() ? top : joined(top, parent);
    struct stat info {};
    if (here.empty() || !first_parents_.insert(here).second) continue;
    if (::fstatat(root_.get(), parent.empty() ? "." : parent.c_str(), &info, 0) != 0)
      throw cannot_read(here, errno);
    give(out, DirectoryRecord{here, info.st_mode & 07777, time_of(info)});
  }
}

bool TreeSender::was_first(const std::string& path, const struct stat& info) const {
  const auto found = sent_first_.find(path);
  return !first_ && found != sent_first_.end() && found->second == stamp_of(info);
}

void TreeSender::begin_entry(std::string& out, int parent, const std::string& name,
                             const std::string& path, const std::string& shown, int follow) {
  struct stat info {};
  const int flags = follow == O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
  if (::fstatat(parent, name.c_str(), &info, flags) != 0) {
    if (has_vanished(errno, shown, follow)) return;
    throw cannot_read(shown, errno);
  }
  if (follow == O_NOFOLLOW && is_left_out(path, info)) return;
  if (follow == O_NOFOLLOW && kept_here_.has(info)) {
    if (not_sent_.kept_here.size() < kMostNotSent) not_sent_.kept_here.push_back(shown);
    return;
  }
  if (S_ISLNK(info.st_mode)) {
    begin_link(out, parent, name, path, shown, time_of(info));
    return;
  }
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
    if (follow != O_NOFOLLOW) throw no_source(shown);
    if (not_sent_.special.size() < kMostNotSent) not_sent_.special.push_back(shown);
    return;
  }
  if (S_ISREG(info.st_mode) && (was_first(path, info) || begin_same(out, path, info))) return;
  // With O_NONBLOCK, opening does not wait for a writer if a pipe has replaced the file.
  UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | follow));
  if (!fd && has_vanished(errno, shown, follow)) return;
  if (!fd || ::fstat(fd.get(), &info) != 0) throw cannot_read(shown, errno);
  if (follow == O_NOFOLLOW && kept_here_.has(info)) return;  // It was renamed just now.
  const std::uint32_t mode = info.st_mode & 07777;
  if (S_ISDIR(info.st_mode)) {
    give(out, DirectoryRecord{path, mode, time_of(info)});
    enter(std::move(fd), path, shown);
  } else if (const std::uint64_t number = files_++; number < from_.files) {
    ++sent_.files;
    sent_.bytes += static_cast<std::uint64_t>(info.st_size);
  } else {
    give(out, FileRecord{path, mode, time_of(info)});
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    const std::uint64_t known = number == from_.files ? from_.bytes : 0;
    file_ = File{std::move(fd), shown, sums_->at(shown), known};
  }
}

/// Sends a file by its checksum alone. Returns false if the file must be read.
bool TreeSender::begin_same(std::string& out, const std::string& path, const struct stat& info) {
  const bool is_begun = files_ < from_.files || (files_ == from_.files && from_.bytes > 0);
  if (!in_base_ || is_begun) return false;
  const auto sum = in_base_(path.substr(path.find('/') + 1));
  if (!sum) return false;
  ++files_;
  ++sent_.files;
  give(out, FileRecord{path, info.st_mode & 07777, time_of(info)});
  give(out, SameRecord{});
  give(out, SumRecord{*sum});
  return true;
}

void TreeSender::begin_link(std::string& out, int parent, const std::string& name,
                            const std::string& path, const std::string& shown, FileTime modified) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(parent, name.c_str(), target.data(), target.size());
  if (size < 0 && has_vanished(errno, shown, O_NOFOLLOW)) return;
  if (size < 0) throw cannot_read(shown, errno);
  give(out, LinkRecord{path, {target.data(), static_cast<std::size_t>(size)}, modified});
  ++sent_.files;
}

bool TreeSender::is_left_out(const std::string& path, const struct stat& info) const {
  if (!left_out_) return false;
  return left_out_(top_.empty() ? path : path.substr(top_.size() + 1), S_ISDIR(info.st_mode));
}

/// Records an entry of a directory that has disappeared. Returns false for a source and for any
/// other failure.
bool TreeSender::has_vanished(int error_number, const std::string& shown, int follow) {
  if (follow != O_NOFOLLOW || (error_number != ENOENT && error_number != ESTALE)) return false;
  if (not_sent_.vanished.size() < kMostNotSent) not_sent_.vanished.push_back(shown);
  return true;
}

void TreeSender::enter(UniqueFd fd, const std::string& path, const std::string& shown) {
  Directory directory{std::move(fd), path, shown, {}};
  directory.names = names_in(directory.fd.get(), shown);
  open_.push_back(std::move(directory));
}

void TreeSender::send_block(std::string& out) {
  const bool is_known = file_->offset < file_->known;
  const std::uint64_t most = is_known ? file_->known - file_->offset : block_.size();
  const ssize_t size = ::read(file_->fd.get(), block_.data(), std::min(most, block_.size()));
  if (size < 0 && errno == EINTR) return;
  if (size < 0) throw cannot_read(file_->shown, errno);
  if (size == 0) {
    const Digest sum = file_->sum->finish();
    give(out, SumRecord{sum});
    if (on_sent_) on_sent_(file_->shown, sum);
    ++sent_.files;
    file_.reset();
    return;
  }
  const std::string_view bytes(block_.data(), static_cast<std::size_t>(size));
  file_->sum->add(file_->offset, bytes);
  file_->offset += bytes.size();
  sent_.bytes += bytes.size();
  if (is_known) return;
  give(out, BlockRecord{bytes});
}

void check_readable(const std::vector<std::filesystem::path>& sources, const LeftOut& left_out) {
  namespace fs = std::filesystem;
  const KeptHere kept_here;
  const auto check = [](const fs::path& path, int access) {
    if (::faccessat(AT_FDCWD, path.c_str(), access, AT_EACCESS) != 0 && errno != ENOENT)
      throw cannot_read(path.string(), errno);
  };
  for (const fs::path& source : sources) {
    struct stat info {};
    if (::stat(source.c_str(), &info) != 0) throw cannot_read(source.string(), errno);
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) throw no_source(source.string());
    kept_here.check_source(source);
    check(source, S_ISDIR(info.st_mode) ? R_OK | X_OK : R_OK);
    if (!S_ISDIR(info.st_mode)) continue;
    std::error_code ignored;
    for (auto item = fs::recursive_directory_iterator(source, ignored);
         item != fs::recursive_directory_iterator(); item.increment(ignored)) {
      const fs::file_status status = item->symlink_status(ignored);
      if (is_kept(kept_here, item->path(), status) ||
          (left_out &&
           left_out(item->path().lexically_relative(source).string(), fs::is_directory(status)))) {
        item.disable_recursion_pending();
        continue;
      }
      if (fs::is_directory(status)) check(item->path(), R_OK | X_OK);
      if (fs::is_regular_file(status)) check(item->path(), R_OK);
    }
  }
}

Sent measure(const std::vector<std::filesystem::path>& sources) {
  namespace fs = std::filesystem;
  const KeptHere kept_here;
  Sent total;
  std::error_code ignored;
  const auto add = [&](const fs::path& file) {
    ++total.files;
    const auto size = fs::file_size(file, ignored);
    if (!ignored) total.bytes += size;
  };
  for (const fs::path& source : sources) {
    if (fs::is_regular_file(source, ignored)) add(source);
    for (auto item = fs::recursive_directory_iterator(source, ignored);
         item != fs::recursive_directory_iterator(); item.increment(ignored)) {
      if (is_kept(kept_here, item->path(), item->symlink_status(ignored)))
        item.disable_recursion_pending();
      if (!item->is_symlink(ignored) && item->is_regular_file(ignored)) add(item->path());
    }
  }
  return total;
}

}  // namespace fastgpu::transfer
