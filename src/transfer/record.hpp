// The records of a file tree in transfer, and their encoding in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "transfer/packing.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::transfer {

/// A time in nanoseconds since 1970.
using FileTime = std::int64_t;

/// A directory. Paths are relative, with '/' between names, and begin with the name of the source.
/// Every directory comes before its content.
struct DirectoryRecord {
  std::string path;
  std::uint32_t mode = 0;
  FileTime modified = 0;
};

/// A file, followed by its content in blocks and, after the last, their sum.
struct FileRecord {
  std::string path;
  std::uint32_t mode = 0;
  FileTime modified = 0;
};

struct BlockRecord {
  /// The bytes are not empty, at most kLargestBlock, and borrowed from the decoder.
  std::string_view bytes;
};

/// A record in place of blocks. The content is that of the file with this path in the other side's
/// base, the files that it is known to have.
struct SameRecord {};

struct SumRecord {
  Digest digest{};
};

struct LinkRecord {
  std::string path;
  std::string target;
  FileTime modified = 0;
};

/// The last record. A stream that ends without it was cut off.
struct EndRecord {};

/// The sender gives up the copy: the receiver keeps nothing of it.
struct GivenUpRecord {};

/// The sender has no data just now, and is still there.
struct AliveRecord {};

using Record = std::variant<DirectoryRecord, FileRecord, BlockRecord, SameRecord, SumRecord,
                            LinkRecord, EndRecord, GivenUpRecord, AliveRecord>;

/// The sum of everything in a stream but content: names, kinds, modes, times, and the sums of
/// files. Equal on both sides only if everything was received as it was sent.
class StreamAccount {
 public:
  void add(const Record& record);
  /// Returns the sum, once the last record has been added; absent before.
  const std::optional<Digest>& sum() const noexcept { return total_; }

 private:
  Sha256 sum_;
  std::optional<Digest> total_;
};

inline constexpr std::size_t kLargestBlock = 256UL * 1024;

void encode(std::string& out, const Record& record);

/// Returns whole encoded records, of kLongestRun at most, in their form for transfer: packed if
/// that is worthwhile.
std::string pack_records(std::string records, Packer& packer);

/// Takes pieces of any size and returns whole records. Throws ErrorKind::remote for malformed
/// records.
class Decoder {
 public:
  void add(std::string_view piece);
  /// Returns the next record; absent until more is added. Borrowed bytes are valid until the next
  /// call.
  std::optional<Record> next();

 private:
  void unpack();

  std::string buffer_;
  std::size_t at_ = 0;
  Unpacker unpacker_;
  std::string_view run_;  // The rest of the records that were packed together.
};

}  // namespace fastgpu::transfer
