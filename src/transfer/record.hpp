// The records in which a file tree is sent, and their encoding as bytes.
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
/// A directory is sent before its content.
struct DirectoryRecord {
  std::string path;
  std::uint32_t mode = 0;
  FileTime modified = 0;
};

/// A file. Its content follows in blocks, and then their checksum.
struct FileRecord {
  std::string path;
  std::uint32_t mode = 0;
  FileTime modified = 0;
};

struct BlockRecord {
  /// Between 1 and kLargestBlock bytes, borrowed from the decoder.
  std::string_view bytes;
};

/// Sent in place of blocks: the content is that of the file with this path in the receiver's base,
/// the files that it is known to have.
struct SameRecord {};

struct SumRecord {
  Digest digest{};
};

struct LinkRecord {
  std::string path;
  std::string target;
  FileTime modified = 0;
};

/// The last record. A stream that ends without it is incomplete.
struct EndRecord {};

/// The sender has given up the copy. The receiver keeps nothing of it.
struct GivenUpRecord {};

/// The sender has no data at the moment, but is alive.
struct AliveRecord {};

using Record = std::variant<DirectoryRecord, FileRecord, BlockRecord, SameRecord, SumRecord,
                            LinkRecord, EndRecord, GivenUpRecord, AliveRecord>;

/// A checksum over everything in a stream except the content: names, kinds, modes, times, and the
/// checksums of files. It is equal on both sides only if everything was received as it was sent.
class StreamAccount {
 public:
  void add(const Record& record);
  /// Returns the checksum; absent until the last record has been added.
  const std::optional<Digest>& sum() const noexcept { return total_; }

 private:
  Sha256 sum_;
  std::optional<Digest> total_;
};

inline constexpr std::size_t kLargestBlock = 256UL * 1024;

void encode(std::string& out, const Record& record);

/// Returns encoded records in their form for transfer, packed if that is worthwhile. `records` has
/// complete records, at most kLongestRun bytes.
std::string pack_records(std::string records, Packer& packer);

/// Assembles records from pieces of any size. Throws ErrorKind::remote for malformed records.
class Decoder {
 public:
  void add(std::string_view piece);
  /// Returns the next record; absent until more pieces are added. Borrowed bytes are valid until
  /// the next call.
  std::optional<Record> next();

 private:
  void unpack();

  std::string buffer_;
  std::size_t at_ = 0;
  Unpacker unpacker_;
  std::string_view run_;  // The remaining bytes of records that were packed together.
};

}  // namespace fastgpu::transfer
