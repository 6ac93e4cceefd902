// Takes a stream of records and makes it a file tree, checked and complete or not at all.
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

/// How many sources the stream carries: with several, the destination must be a directory.
enum class SourceCount : std::uint8_t { one, several };

/// Where the copy to that destination is put together.
std::filesystem::path staging_parent(const std::filesystem::path& destination);

/// A file whose content has come in as it was sent.
struct ReceivedFile {
  std::string path;  ///< Begins with the name that it has at the destination.
  std::uint32_t mode = 0;
  std::uint64_t size = 0;
  Digest sum{};
};
using OnFile = std::function<void(const ReceivedFile& file)>;

/// A tree that is here already, like the one that comes.
struct BaseTree {
  /// The sum of a file of it, by its path and how it looks, that is known without reading it;
  /// absent for others.
  using KnownSum =
      std::function<std::optional<Digest>(const std::string& path, const struct stat& status)>;

  std::filesystem::path root{};  ///< Empty where there is none.
  KnownSum known_sum{};          ///< May be empty: nothing is known.
};

/// A copy that may come.
struct Announced {
  SourceCount count = SourceCount::one;
  EntryKind first = EntryKind::directory;  ///< The kind of the first source.
  std::uint64_t bytes = 0;                 ///< Content of all sources.
};

/// Tries whether the copy can be put together at the destination: throws as a TreeReceiver would,
/// and capacity if the file system has less room. Leaves nothing behind.
void try_receiving(const std::filesystem::path& destination, const Announced& copy);

/// As cp -r has it: into a destination that is a directory, or under the destination's name where
/// there is nothing yet or a file. A directory that exists is merged into.
class TreeReceiver {
 public:
  /// Throws not_found where the directory around the destination does not exist, conflict where it
  /// is a file and cannot be, denied or capacity as the file system says. With a resumption it goes
  /// on with what was kept, or throws remote where that is less than the stream will take for
  /// granted; a stream that is cut off is kept then. Files that are in `base` become links to those
  /// there, and are read where their sums are not known.
  TreeReceiver(const std::filesystem::path& destination, SourceCount count,
               const std::optional<Resumption>& resumption = {}, OnFile on_file = {},
               const BaseTree& base = {});

  /// From now on nothing comes but what was asked for, and all of that: for a stream from a machine
  /// that is not to choose what is written here. feed() and finish() throw as AskedNames then.
  void expect(AskedNames names) { asked_ = std::move(names); }

  /// Throws remote for a malformed stream and for content that is not what was sent (naming the
  /// file), denied for a path that leads out of the destination, capacity for a full disk.
  void feed(std::string_view piece);

  /// Content that has come in by this stream.
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// What the sender's account must be; absent before the last record.
  const std::optional<Digest>& account() const noexcept { return account_.sum(); }

  /// The end of the stream. Throws transient where it is cut off; otherwise all is in its place.
  void finish();

 private:
  struct File {
    UniqueFd fd;  // Once it is needed.
    FileRecord record;
    std::optional<Sha256> sum{};    // Of what came in; absent where some of it was there before.
    std::optional<Digest> known{};  // Of content that is that of the base.
    bool has_content = false;
    bool is_link = false;    // To one in the base, whose mode and time stay.
    std::uint64_t size = 0;  // Of such a one.
  };

  void take(const DirectoryRecord& record);
  void take(const FileRecord& record);
  void take(const BlockRecord& record);
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
  std::string new_name_;  // What the source is called here; empty where it keeps its name.
  bool must_be_directory_ = false;
  bool is_content_ = false;  // Of a directory, without its name.
  std::unique_ptr<Staging> staging_;
  UniqueFd base_;
  BaseTree::KnownSum known_sum_;
  UniqueFd base_parent_;
  std::optional<std::string> base_parent_path_;  // The directory that base_parent_ has open.
  Decoder decoder_;
  StreamAccount account_;
  std::optional<File> file_;
  std::vector<DirectoryRecord> directories_;
  std::unordered_map<std::string, std::size_t> directory_at_;  // In directories_, by path.
  std::optional<std::string> parent_path_;  // The directory that parent_ has open.
  UniqueFd parent_;
  std::uint64_t bytes_ = 0;
  std::uint64_t files_ = 0;
  std::uint64_t bytes_kept_ = 0;  // Of the file that comes first, from before.
  bool goes_on_ = false;
  bool ended_ = false;
};

}  // namespace fastgpu::transfer
