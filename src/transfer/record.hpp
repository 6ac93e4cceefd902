// What a file tree looks like on its way: a sequence of records, and their encoding in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "transfer/packing.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::transfer {

/// Nanoseconds since 1970.
using FileTime = std::int64_t;

/// Paths are relative, with '/' between names, and begin with the name of the source. Every
/// directory comes before what is in it.
struct DirectoryRecord {
  std::string path;
  std::uint32_t mode = 0;
  FileTime modified = 0;
};

/// Followed by its content in blocks and, after the last, their sum.
struct FileRecord {
  std::string path;
  std::uint32_t mode = 0;
  FileTime modified = 0;
};

struct BlockRecord {
  std::string_view bytes;  ///< Not empty, at most kLargestBlock; borrowed from the decoder.
};

/// In place of blocks: the content is that of the file with this path in what the other side is
/// known to have, its base.
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

/// The copy is given up by who sends it: nothing of it is to be kept.
struct GivenUpRecord {};

/// Who sends it has nothing to give just now, and is still there.
struct AliveRecord {};

using Record = std::variant<DirectoryRecord, FileRecord, BlockRecord, SameRecord, SumRecord,
                            LinkRecord, EndRecord, GivenUpRecord, AliveRecord>;

/// The sum of all that a stream says but content: names, kinds, modes, times, and the sums of
/// files. Equal on both sides only if what was received is what was sent.
class StreamAccount {
 public:
  void add(const Record& record);
  /// The sum, once the last record has been added; absent before.
  const std::optional<Digest>& sum() const noexcept { return total_; }

 private:
  Sha256 sum_;
  std::optional<Digest> total_;
};

inline constexpr std::size_t kLargestBlock = 256UL * 1024;

void encode(std::string& out, const Record& record);

/// Whole records that have been encoded, of kLongestRun at most, as they go on their way: packed
/// where that is worth it.
std::string pack_records(std::string records, Packer& packer);

/// Takes pieces of any size and gives whole records. Throws ErrorKind::remote for what is no
/// record.
class Decoder {
 public:
  void add(std::string_view piece);
  /// The next record; absent until more is added. What it borrows is valid until the next call.
  std::optional<Record> next();

 private:
  void unpack();

  std::string buffer_;
  std::size_t at_ = 0;
  Unpacker unpacker_;
  std::string_view run_;  // What is left of the records that were packed together.
};

}  // namespace fastgpu::transfer
