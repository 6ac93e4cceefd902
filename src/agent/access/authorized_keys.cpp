#include "agent/access/authorized_keys.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "agent/files/disk.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;

/// The end of our line if we have created the file: then removing the last line also removes the
/// file.
constexpr std::string_view kMadeFile = " (and this file)";

/// Returns the lines with their newlines. The last line may have none.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    const std::size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::string_view content_of(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with(kMadeFile)) line.remove_suffix(kMadeFile.size());
  return line;
}

/// Returns true if the line ends with `words`. Ignores options that the owner has put before them.
bool ends_with_words(std::string_view line, std::string_view words) {
  const std::string_view content = content_of(line);
  if (!content.ends_with(words)) return false;
  const std::size_t before = content.size() - words.size();
  return before == 0 || content[before - 1] == ' ' || content[before - 1] == '\t';
}

std::string_view last_word(std::string_view line) {
  return line.substr(line.rfind(' ') + 1);
}

/// Locks the file, because agents of several clusters may change it at the same time.
UniqueFd lock() {
  const fs::path directory = below_home(".fastgpu");
  make_private_directory(directory);
  const fs::path path = directory / "authorized_keys.lock";
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) throw system_error("opening " + path.string(), errno);
  while (::flock(file.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw system_error("locking " + path.string(), errno);
  return file;
}

/// Returns the path of the file itself, after symbolic links.
fs::path resolve() {
  const fs::path path = below_home(".ssh/authorized_keys");
  std::error_code error;
  const fs::path file = fs::weakly_canonical(path, error);
  if (!error && !fs::is_symlink(file)) return file;
  throw Error(ErrorKind::local, path.string() + " is a symbolic link that leads nowhere");
}

class KeysFile {
 public:
  KeysFile() : lock_(lock()), path_(resolve()), draft_(path_.string() + ".fastgpu") {
    there_ = ::stat(path_.c_str(), &status_) == 0;
    if (!there_ && errno != ENOENT) throw system_error("reading " + path_.string(), errno);
    if (there_) text_ = read_file(path_).value_or("");
  }

  const std::string& text() const noexcept { return text_; }
  bool there() const noexcept { return there_; }

  void check_writable() const {
    const uid_t self = ::geteuid();
    if (there_ && self != 0 && status_.st_uid != self)
      throw Error(ErrorKind::denied, path_.string() + " belongs to another user");
    fs::path directory = path_.parent_path();
    if (!fs::exists(directory)) directory = directory.parent_path();
    if (::access(directory.c_str(), W_OK | X_OK) != 0)
      throw system_error("writing in " + directory.string(), errno);
  }

  void replace(const std::string& text) {
    check_writable();
    make_private_directory(path_.parent_path());
    try {
      write_draft(text);
      if (::rename(draft_.c_str(), path_.c_str()) != 0)
        throw system_error("writing " + path_.string(), errno);
    } catch (const Error&) {
      ::unlink(draft_.c_str());
      throw;
    }
    sync_directory();
  }

  void remove() {
    if (::unlink(path_.c_str()) != 0) throw system_error("removing " + path_.string(), errno);
    sync_directory();
  }

  /// Turns the lines with this mark into comments, in place: a full disk has no room for another
  /// file, but replacing one byte needs none.
  void comment_out(std::string_view mark) const {
    const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) throw system_error("writing " + path_.string(), errno);
    for (const std::string_view line : lines_of(text_)) {
      if (!ends_with_words(line, mark) || line.starts_with('#')) continue;
      if (::pwrite(fd.get(), "#", 1, line.data() - text_.data()) != 1)
        throw system_error("writing " + path_.string(), errno);
    }
    if (::fsync(fd.get()) != 0) throw system_error("writing " + path_.string(), errno);
  }

  /// Removes the draft of a killed run.
  void drop_draft() const noexcept { ::unlink(draft_.c_str()); }

 private:
  void write_draft(const std::string& text) const {
    const UniqueFd fd(::open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd) throw system_error("writing " + draft_.string(), errno);
    write_all(fd.get(), text);
    const bool kept = !there_ || (::fchown(fd.get(), status_.st_uid, status_.st_gid) == 0 &&
                                  ::fchmod(fd.get(), status_.st_mode & 07777) == 0);
    if (!kept) throw system_error("keeping the owner and mode of " + path_.string(), errno);
    if (::fsync(fd.get()) != 0) throw system_error("writing " + draft_.string(), errno);
  }

  void sync_directory() const {
    const UniqueFd fd(::open(path_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0)
      throw system_error("syncing " + path_.parent_path().string(), errno);
  }

  UniqueFd lock_;
  fs::path path_;
  fs::path draft_;
  bool there_ = false;
  struct stat status_ {};
  std::string text_;
};

}  // namespace

std::string with_line(std::string_view text, std::string_view line) {
  for (const std::string_view present : lines_of(text))
    if (ends_with_words(present, line)) return std::string(text);
  std::string out = without_line(text, last_word(line));
  // Text that does not end with a newline gets one, and then our line has none. So the text is as
  // before once our line is removed.
  if (out.empty() || out.ends_with('\n')) return out + std::string(line) + "\n";
  return out + "\n" + std::string(line);
}

std::string without_line(std::string_view text, std::string_view mark) {
  std::string out;
  for (const std::string_view line : lines_of(text)) {
    if (!ends_with_words(line, mark)) {
      out += line;
    } else if (!line.ends_with('\n') && out.ends_with('\n')) {
      out.pop_back();
    }
  }
  return out;
}

void check_authorized_keys() {
  KeysFile().check_writable();
}

void add_authorized_key(std::string_view line) {
  KeysFile file;
  std::string text = with_line(file.text(), line);
  if (!file.there()) text.insert(text.size() - 1, kMadeFile);
  if (text != file.text()) file.replace(text);
}

void remove_authorized_key(std::string_view mark) {
  KeysFile file;
  file.drop_draft();
  const std::string text = without_line(file.text(), mark);
  if (text == file.text()) return;
  if (text.empty() && file.text().ends_with(std::string(kMadeFile) + "\n")) {
    file.remove();
    return;
  }
  try {
    file.replace(text);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::capacity) throw;
    file.comment_out(mark);
  }
}

}  // namespace fastgpu::agent
