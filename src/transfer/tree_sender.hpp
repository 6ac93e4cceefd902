// Reads file trees and gives them as pieces of a stream of records.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "transfer/record.hpp"
#include "transfer/resume.hpp"

namespace fastgpu::transfer {

/// The sum of one file, computed once for all senders that read it at about the same time: whoever
/// comes to a byte first adds it.
class FileSum {
 public:
  void add(std::uint64_t offset, std::string_view bytes);
  Digest finish();

 private:
  Sha256 sum_;
  std::uint64_t added_ = 0;
  std::optional<Digest> digest_;
};

/// Shared by the senders of one copy to many hosts. Not thread-safe. Keeps the sums of the files
/// that some sender is reading now, and no others.
class FileSums {
 public:
  std::shared_ptr<FileSum> at(const std::string& file);

 private:
  std::map<std::string, std::weak_ptr<FileSum>> sums_;
};

/// With what was there already.
struct Sent {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  ///< Content, without names and sums.
};

/// The sum of a file, by its path below the source, that the receiver has in its base; absent for
/// others.
using InBase = std::function<std::optional<Digest>(const std::string& path)>;

/// One that goes ahead of all that a walk comes to.
struct FirstFile {
  std::optional<std::string> path{};  ///< Below the source; absent where there is none now.
  bool is_over = false;               ///< There will be none.
};

/// The next one. Of a tree that others still make it may be waited for, if the sender says so,
/// which has nothing left to give then.
using FirstFiles = std::function<FirstFile(bool may_wait)>;

/// Told of each file that was sent: its path here, and the sum of what was sent.
using OnSent = std::function<void(const std::string& file, const Digest& sum)>;

/// Returns whether an entry is left out of a copy, by its path below the source. Asked for a
/// directory before what is in it, which is left out with it.
using LeftOut = std::function<bool(const std::string& path, bool is_directory)>;

/// One stream. A symbolic link named as a source is followed, further ones are sent as links. What
/// is neither file, directory nor link is passed over inside a directory, and refused as a source.
class TreeSender {
 public:
  /// What lies before `from` is known to be there, and is read where a sum needs it, but not sent.
  /// What is `in_base` is neither read nor sent. `first` are files of the only source; one of them
  /// that has changed when the walk comes to it is sent again.
  TreeSender(std::vector<std::filesystem::path> sources, std::shared_ptr<FileSums> sums,
             const Position& from = {}, InBase in_base = {}, FirstFiles first = {},
             OnSent on_sent = {});

  /// Leaves entries out of what is sent from now on; sources themselves never.
  void leave_out(LeftOut left_out) { left_out_ = std::move(left_out); }

  /// The next piece, perhaps an empty one; absent at the end. Throws not_found for a source that
  /// does not exist, denied for a file that cannot be read, usage for a source that is neither a
  /// file nor a directory.
  std::optional<std::string> next();

  const Sent& sent() const noexcept { return sent_; }

  /// What the receiver's account must be; absent before the end.
  const std::optional<Digest>& account() const noexcept { return account_.sum(); }

  /// Files and directories below the sources that were there when their directory was read and were
  /// gone when their turn came: the copy is complete without them. The first thousand.
  const std::vector<std::string>& vanished() const noexcept { return vanished_; }

 private:
  struct Directory {
    UniqueFd fd;
    std::string path;   // As the records have it.
    std::string shown;  // For messages.
    std::vector<std::string> names;
    std::size_t next = 0;
  };
  struct File {
    UniqueFd fd;
    std::string shown;
    std::shared_ptr<FileSum> sum;
    std::uint64_t known = 0;  // So much of it is there.
    std::uint64_t offset = 0;
  };

  /// A file as it was when it was sent ahead.
  struct Stamp {
    ino_t inode = 0;
    off_t size = 0;
    mode_t mode = 0;
    FileTime modified = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  static Stamp stamp_of(const struct stat& info);
  void give(std::string& out, const Record& record);
  void step(std::string& out);
  void step_first(std::string& out);
  void begin_first(std::string& out, const std::string& path);
  void encode_parents(std::string& out, const std::string& path);
  bool was_first(const std::string& path, const struct stat& info) const;
  void begin_source(std::string& out, const std::filesystem::path& source);
  void begin_entry(std::string& out, int parent, const std::string& name, const std::string& path,
                   const std::string& shown, int follow);
  bool begin_same(std::string& out, const std::string& path, const struct stat& info);
  void begin_link(std::string& out, int parent, const std::string& name, const std::string& path,
                  const std::string& shown, FileTime modified);
  bool is_left_out(const std::string& path, const struct stat& info) const;
  bool has_vanished(int error_number, const std::string& shown, int follow);
  void enter(UniqueFd fd, const std::string& path, const std::string& shown);
  void send_block(std::string& out);

  std::vector<std::filesystem::path> sources_;
  std::size_t next_source_ = 0;
  std::shared_ptr<FileSums> sums_;  // With the other senders of the same copy.
  std::vector<Directory> open_;
  std::optional<File> file_;
  std::string block_;
  Packer packer_;
  Position from_;
  InBase in_base_;
  FirstFiles first_;  // Empty once they are through.
  OnSent on_sent_;
  LeftOut left_out_;
  std::string top_;                          // Of the source that is walked, as records have it.
  UniqueFd root_;                            // Of the source that they are in.
  std::map<std::string, Stamp> sent_first_;  // By the path that records have.
  std::set<std::string> first_parents_;      // Likewise.
  std::uint64_t files_ = 0;                  // Begun, or passed over.
  Sent sent_;
  StreamAccount account_;
  std::vector<std::string> vanished_;
  bool waits_ = false;  // For a first file.
  bool ended_ = false;
};

/// Throws for the first source that is not there, is neither a file nor a directory, or has
/// something in it that cannot be read and is not left out, naming it: before anything of a copy is
/// sent.
void check_readable(const std::vector<std::filesystem::path>& sources,
                    const LeftOut& left_out = {});

/// Files and bytes in the trees, for showing progress; what cannot be read counts as nothing.
Sent measure(const std::vector<std::filesystem::path>& sources);

}  // namespace fastgpu::transfer
