// Reads file trees and encodes them as a stream of records.
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
#include "transfer/kept_here.hpp"
#include "transfer/not_sent.hpp"
#include "transfer/record.hpp"
#include "transfer/resume.hpp"

namespace fastgpu::transfer {

/// The checksum of one file, computed once for all senders that read the file at about the same
/// time. The first sender that reaches a byte adds it.
class FileSum {
 public:
  void add(std::uint64_t offset, std::string_view bytes);
  Digest finish();

 private:
  Sha256 sum_;
  std::uint64_t added_ = 0;
  std::optional<Digest> digest_;
};

/// The checksums that the senders of one copy to many hosts share. Not thread-safe. Has only the
/// checksums of files that a sender is reading now.
class FileSums {
 public:
  std::shared_ptr<FileSum> at(const std::string& file);

 private:
  std::map<std::string, std::weak_ptr<FileSum>> sums_;
};

/// The amount that was sent, including what the receiver had already.
struct Sent {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  ///< The bytes of content, without names and checksums.
};

/// Returns the checksum of a file that the receiver has in its base, by its path below the source;
/// absent for other files.
using InBase = std::function<std::optional<Digest>(const std::string& path)>;

/// A file that is sent before the walk through the tree.
struct FirstFile {
  /// The path below the source; absent if no file is ready now.
  std::optional<std::string> path{};
  bool is_over = false;  ///< No more files will come.
};

/// Returns the next file to send before the walk. If other processes are still writing the tree, it
/// may wait for a file if `may_wait` is set, because the sender has nothing else to send then.
using FirstFiles = std::function<FirstFile(bool may_wait)>;

/// Called for each file that was sent, with its local path and the checksum of the sent bytes.
using OnSent = std::function<void(const std::string& file, const Digest& sum)>;

/// Returns true if an entry is excluded from a copy, by its path below the source. Called for a
/// directory before its content, which is excluded with it.
using LeftOut = std::function<bool(const std::string& path, bool is_directory)>;

/// Sends one stream. A symbolic link that is named as a source is followed; other links are sent as
/// links. An entry that is neither a file, a directory nor a link is skipped inside a directory,
/// and refused as a source. A directory of keep_here() is always left out, and refused as a source.
class TreeSender {
 public:
  /// Sends the sources. The receiver has the content before `from` already: it is read if a
  /// checksum needs it, but not sent. Files that `in_base` knows are neither read nor sent. `first`
  /// returns files of the only source that are sent before the walk; a file that has changed when
  /// the walk reaches it is sent again.
  TreeSender(std::vector<std::filesystem::path> sources, std::shared_ptr<FileSums> sums,
             const Position& from = {}, InBase in_base = {}, FirstFiles first = {},
             OnSent on_sent = {});

  /// Excludes entries from now on. The sources themselves are always sent.
  void leave_out(LeftOut left_out) { left_out_ = std::move(left_out); }

  /// Returns the next piece, which may be empty; absent at the end. Throws not_found for a missing
  /// source, denied for an unreadable file, and usage for a source that is neither a file nor a
  /// directory or that is kept here.
  std::optional<std::string> next();

  const Sent& sent() const noexcept { return sent_; }

  /// Returns the checksum that the receiver's account must have; absent before the end.
  const std::optional<Digest>& account() const noexcept { return account_.sum(); }

  const NotSent& not_sent() const noexcept { return not_sent_; }

 private:
  struct Directory {
    UniqueFd fd;
    std::string path;   // The path in the records.
    std::string shown;  // The path in messages.
    std::vector<std::string> names;
    std::size_t next = 0;
  };
  struct File {
    UniqueFd fd;
    std::string shown;
    std::shared_ptr<FileSum> sum;
    std::uint64_t known = 0;  // The bytes that the receiver has already.
    std::uint64_t offset = 0;
  };

  /// The state of a file when it was sent before the walk.
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
  std::shared_ptr<FileSums> sums_;  // Shared with the other senders of the same copy.
  std::vector<Directory> open_;
  std::optional<File> file_;
  std::string block_;
  Packer packer_;
  Position from_;
  InBase in_base_;
  FirstFiles first_;  // Null after the last one.
  OnSent on_sent_;
  LeftOut left_out_;
  KeptHere kept_here_;
  std::string top_;  // The name in the records of the source that is walked through.
  UniqueFd root_;    // The source of the files that are sent first.
  std::map<std::string, Stamp> sent_first_;  // The files sent first, by their paths in the records.
  std::set<std::string> first_parents_;      // The directories that were sent for them.
  std::uint64_t files_ = 0;                  // The number of files begun or skipped.
  Sent sent_;
  StreamAccount account_;
  NotSent not_sent_;
  bool waits_ = false;  // True while waiting for a file to send first.
  bool ended_ = false;
};

/// Throws for the first source that is missing, is neither a file nor a directory, is kept here, or
/// has an unreadable entry that is not excluded. The error names it. Call it before anything of a
/// copy is sent.
void check_readable(const std::vector<std::filesystem::path>& sources,
                    const LeftOut& left_out = {});

/// Counts the files and bytes in the trees, for the display of progress. Unreadable entries count
/// as 0.
Sent measure(const std::vector<std::filesystem::path>& sources);

}  // namespace fastgpu::transfer
