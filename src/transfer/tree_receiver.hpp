// Receives a stream of records as a file tree, which appears checked and complete or not at all.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.hpp"
#include "transfer/asked_names.hpp"
#include "transfer/record.hpp"
#include "transfer/staging.hpp"

namespace fastgpu::transfer {

/// Whether the stream has several sources. Then the destination must be a directory.
enum class SourceCount : std::uint8_t { one, several };

/// Returns the directory in which the copy to `destination` is staged.
std::filesystem::path staging_parent(const std::filesystem::path& destination);

/// A file whose content was received unchanged.
struct ReceivedFile {
  std::string path;  ///< Begins with the name at the destination.
  std::uint32_t mode = 0;
  std::uint64_t size = 0;
  Digest sum{};
};
using OnFile = std::function<void(const ReceivedFile& file)>;

/// An existing tree on this machine that resembles the received one.
struct BaseTree {
  /// Returns the checksum of a file, by its path and its status, if it is known without reading the
  /// file; otherwise absent.
  using KnownSum =
      std::function<std::optional<Digest>(const std::string& path, const struct stat& status)>;

  std::filesystem::path root{};  ///< The directory; empty if there is no base.
  KnownSum known_sum{};          ///< The known checksums; null if every file must be read.
};

/// A copy that is announced and may follow.
struct Announced {
  SourceCount count = SourceCount::one;
  EntryKind first = EntryKind::directory;  ///< The kind of the first source.
  std::uint64_t bytes = 0;                 ///< The bytes of content in all sources.
};

/// Checks whether the copy could be assembled at the destination. Throws as a TreeReceiver would,
/// and capacity if the file system has less free space. Leaves nothing behind.
void try_receiving(const std::filesystem::path& destination, const Announced& copy);

/// Receives a tree with the rules of cp -r: into the destination if that is a directory, and
/// otherwise under the destination's name. Merges into a directory that exists.
class TreeReceiver {
 public:
  /// Throws not_found if the directory of the destination does not exist, conflict if the
  /// destination is a file but must be a directory, and denied or capacity from the file system.
  /// With a resumption, continues with the kept content, or throws remote if less is kept than the
  /// stream assumes; the content of an interrupted stream is then kept. Files that are also in
  /// `base` become links to those there; they are read if their checksums are unknown.
  TreeReceiver(const std::filesystem::path& destination, SourceCount count,
               const std::optional<Resumption>& resumption = {}, OnFile on_file = {},
               const BaseTree& base = {});

  /// Accepts only the requested names from now on, and requires all of them. Use it for a stream
  /// from a machine that must not choose what is written here. feed() and finish() then throw as
  /// AskedNames does.
  void expect(AskedNames names) { asked_ = std::move(names); }

  /// Throws remote for a malformed stream and for content that was changed on the way (naming the
  /// file). Throws denied for a path that leads out of the destination, and capacity for a full
  /// disk.
  void feed(std::string_view piece);

  /// Returns the bytes of content received so far.
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Returns the checksum that the sender's account must have; absent before the last record.
  const std::optional<Digest>& account() const noexcept { return account_.sum(); }

  /// Handles the end of the stream. On return everything is at its place. Throws transient if the
  /// stream is incomplete.
  void finish();

 private:
  struct File {
    UniqueFd fd;  // Opened when it is needed.
    FileRecord record;
    // The checksum of the received content; absent if a part was kept from an earlier copy.
    std::optional<Sha256> sum{};
    std::optional<Digest> known{};  // The checksum of the content in the base.
    bool has_content = false;
    bool is_link = false;    // Becomes a link into the base, whose mode and time stay.
    std::uint64_t size = 0;  // The size of a link's file.
  };

  void take(const DirectoryRecord& record);
  void take(const FileRecord& record);
  void take(const BlockRecord& record);
  void leave_hole(std::size_t bytes);
  void take(const SameRecord& record);
  void take(const SumRecord& record);
  void take(const LinkRecord& record);
  void take(const EndRecord& record);
  void take(const GivenUpRecord& record);
  void take(const AliveRecord& record);

  std::string placed(const std::string& path, EntryKind kind);
  int open_parent(const std::string& parent);
  void go_on(const Resumption& resumption);
  UniqueFd open_file(const std::string& path);
  UniqueFd open_kept(const std::string& path, std::uint64_t kept);
  int own_fd();
  int open_base_parent(const std::string& parent);
  UniqueFd open_in_base(const std::string& path);
  bool has_shape_of_record(const struct stat& there) const;
  bool become_link_unread();
  bool become_link_to(int there);
  void end_file();
  Digest sum_of_content();
  std::uint64_t size_of_content();
  void check_content(const Digest& expected);

  std::optional<AskedNames> asked_;
  OnFile on_file_;
  std::string shown_;     // The destination, for messages.
  std::string new_name_;  // The source's name here; empty if it is not changed.
  bool must_be_directory_ = false;
  // The source is the content of a directory, without the directory's name.
  bool is_content_ = false;
  std::unique_ptr<Staging> staging_;
  UniqueFd base_;
  BaseTree::KnownSum known_sum_;
  UniqueFd base_parent_;
  std::optional<std::string> base_parent_path_;  // The directory that base_parent_ has open.
  Decoder decoder_;
  StreamAccount account_;
  std::optional<File> file_;
  std::vector<DirectoryRecord> directories_;
  // The index in directories_, by path.
  std::unordered_map<std::string, std::size_t> directory_at_;
  std::optional<std::string> parent_path_;  // The directory that parent_ has open.
  UniqueFd parent_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
  // The bytes of the first file that were kept from an earlier copy.
  std::uint64_t bytes_kept_ = 0;
  bool goes_on_ = false;
  bool ended_ = false;
};

}  // namespace fastgpu::transfer
