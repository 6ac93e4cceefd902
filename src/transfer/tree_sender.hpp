// Reads file trees and returns them as pieces of a stream of records.
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

/// The sum of one file, computed once for all senders that read it at about the same time. The
/// first sender to reach a byte adds it.
class FileSum {
 public:
  void add(std::uint64_t offset, std::string_view bytes);
  Digest finish();

 private:
  Sha256 sum_;
  std::uint64_t added_ = 0;
  std::optional<Digest> digest_;
};

/// The file sums shared by the senders of one copy to many hosts. Not thread-safe. Keeps the sums
/// of the files that some sender is reading now, and no others.
class FileSums {
 public:
  std::shared_ptr<FileSum> at(const std::string& file);

 private:
  std::map<std::string, std::weak_ptr<FileSum>> sums_;
};

/// The amount sent, with everything that was there already.
struct Sent {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;  ///< The content, without names and sums.
};

/// Returns the sum of a file that the receiver has in its base, by its path below the source;
/// absent for others.
using InBase = std::function<std::optional<Digest>(const std::string& path)>;

/// A file that is sent ahead of the walk.
struct FirstFile {
  /// The path below the source; absent if no file is ready now.
  std::optional<std::string> path{};
  bool is_over = false;  ///< No more files will come.
};

/// Returns the next first file. If other processes still write the tree, it may wait for one when
/// `may_wait` is set: the sender then has nothing else to send.
using FirstFiles = std::function<FirstFile(bool may_wait)>;

/// Called for each file that was sent: its path here, and the sum of the bytes sent.
using OnSent = std::function<void(const std::string& file, const Digest& sum)>;

/// Returns whether an entry is left out of a copy, by its path below the source. Called for a
/// directory before its content, which is left out with it.
using LeftOut = std::function<bool(const std::string& path, bool is_directory)>;

/// One stream. A symbolic link named as a source is followed, further ones are sent as links. An
/// entry that is neither file, directory nor link is skipped inside a directory, and refused as a
/// source.
class TreeSender {
 public:
  /// Sends the sources. Content before `from` is known to be there, and is read if a sum needs it,
  /// but not sent. Files that `in_base` knows are neither read nor sent. `first` are files of the
  /// only source; one of them that has changed when the walk reaches it is sent again.
  TreeSender(std::vector<std::filesystem::path> sources, std::shared_ptr<FileSums> sums,
             const Position& from = {}, InBase in_base = {}, FirstFiles first = {},
             OnSent on_sent = {});

  /// Leaves entries out from now on; the sources themselves are always sent.
  void leave_out(LeftOut left_out) { left_out_ = std::move(left_out); }

  /// Returns the next piece, perhaps an empty one; absent at the end. Throws not_found for a
  /// missing source, denied for an unreadable file, usage for a source that is neither a file nor a
  /// directory.
  std::optional<std::string> next();

  const Sent& sent() const noexcept { return sent_; }

  /// Returns the value that the receiver's account must have; absent before the end.
  const std::optional<Digest>& account() const noexcept { return account_.sum(); }

  /// Returns the files and directories below the sources that were listed in their directory but
  /// gone when their turn came. The copy is complete without them. At most the first thousand.
  const std::vector<std::string>& vanished() const noexcept { return vanished_; }

 private:
  struct Directory {
    UniqueFd fd;
    std::string path;   // The path in the records.
    std::string shown;  // The path for messages.
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

  /// A file's state when it was sent ahead.
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
  std::string top_;                          // The walked source's name in the records.
  UniqueFd root_;                            // The source of the first files.
  std::map<std::string, Stamp> sent_first_;  // The first files, by their paths in the records.
  std::set<std::string> first_parents_;      // The directories sent for them.
  std::uint64_t files_ = 0;                  // The files begun or skipped.
  Sent sent_;
  StreamAccount account_;
  std::vector<std::string> vanished_;
  bool waits_ = false;  // Waits for a first file.
  bool ended_ = false;
};

/// Throws for the first source that is missing, is neither a file nor a directory, or contains an
/// unreadable entry that is not left out. The error names it and comes before anything of a copy is
/// sent.
void check_readable(const std::vector<std::filesystem::path>& sources,
                    const LeftOut& left_out = {});

/// Counts files and bytes in the trees, for showing progress; unreadable entries count as nothing.
Sent measure(const std::vector<std::filesystem::path>& sources);

}  // namespace fastgpu::transfer
