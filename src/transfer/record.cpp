#include "transfer/record.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace fastgpu::transfer {
namespace {

constexpr std::size_t kLongestPath = 64UL * 1024;
constexpr char kPacked = 'P';  // Followed by the size of the records and by their packed bytes.

void put_number(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>((value >> (8 * i)) & 0xff);
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, text.size(), 4);
  out += text;
}

struct Encoder {
  std::string& out;

  void operator()(const DirectoryRecord& record) const { entry('D', record); }
  void operator()(const FileRecord& record) const { entry('F', record); }
  void operator()(const BlockRecord& record) const {
    out += 'B';
    put_text(out, record.bytes);
  }
  void operator()(const SameRecord&) const { out += '='; }
  void operator()(const SumRecord& record) const {
    out += 'S';
    out.append(reinterpret_cast<const char*>(record.digest.data()), record.digest.size());
  }
  void operator()(const LinkRecord& record) const {
    out += 'L';
    put_number(out, static_cast<std::uint64_t>(record.modified), 8);
    put_text(out, record.path);
    put_text(out, record.target);
  }
  void operator()(const EndRecord&) const { out += 'E'; }
  void operator()(const GivenUpRecord&) const { out += 'X'; }
  void operator()(const AliveRecord&) const { out += 'A'; }

 private:
  template <class Entry>
  void entry(char type, const Entry& record) const {
    out += type;
    put_number(out, record.mode, 4);
    put_number(out, static_cast<std::uint64_t>(record.modified), 8);
    put_text(out, record.path);
  }
};

/// Thrown for an incomplete record.
struct Incomplete {};

Error bad_record(std::string_view what) {
  return {ErrorKind::remote, "the stream of files is malformed: " + std::string(what)};
}

class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes), size_(bytes.size()) {}

  std::string_view take(std::size_t count) {
    if (rest_.size() < count) throw Incomplete{};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint64_t number(int bytes) {
    std::uint64_t value = 0;
    const std::string_view taken = take(static_cast<std::size_t>(bytes));
    for (int i = bytes - 1; i >= 0; --i)
      value = (value << 8) | static_cast<unsigned char>(taken[static_cast<std::size_t>(i)]);
    return value;
  }
  std::string_view text(std::size_t longest) {
    const auto size = static_cast<std::size_t>(number(4));
    if (size > longest) throw bad_record("a field of " + std::to_string(size) + " bytes");
    return take(size);
  }
  std::uint32_t mode() { return static_cast<std::uint32_t>(number(4)); }
  FileTime time() { return static_cast<FileTime>(number(8)); }
  std::string path() { return std::string(text(kLongestPath)); }

  std::size_t used() const noexcept { return size_ - rest_.size(); }

 private:
  std::string_view rest_;
  std::size_t size_;
};

template <class Entry>
Record read_entry(Fields& fields) {
  Entry entry;
  entry.mode = fields.mode();
  entry.modified = fields.time();
  entry.path = fields.path();
  return entry;
}

Record read_link(Fields& fields) {
  LinkRecord link;
  link.modified = fields.time();
  link.path = fields.path();
  link.target = fields.path();
  return link;
}

Record read_sum(Fields& fields) {
  SumRecord sum;
  const std::string_view bytes = fields.take(sum.digest.size());
  std::ranges::copy(bytes, reinterpret_cast<char*>(sum.digest.data()));
  return sum;
}

Record read_record(Fields& fields) {
  const char type = fields.take(1)[0];
  switch (type) {
    case 'D':
      return read_entry<DirectoryRecord>(fields);
    case 'F':
      return read_entry<FileRecord>(fields);
    case 'B':
      return BlockRecord{fields.text(kLargestBlock)};
    case '=':
      return SameRecord{};
    case 'S':
      return read_sum(fields);
    case 'L':
      return read_link(fields);
    case 'E':
      return EndRecord{};
    case 'X':
      return GivenUpRecord{};
    case 'A':
      return AliveRecord{};
    default:
      throw bad_record("a record of type " + std::to_string(static_cast<int>(type)));
  }
}

}  // namespace

void StreamAccount::add(const Record& record) {
  const bool is_passed_over =
      std::holds_alternative<BlockRecord>(record) || std::holds_alternative<AliveRecord>(record);
  if (is_passed_over || total_) return;  // The sums of files cover the content.
  std::string text;
  encode(text, record);
  sum_.add(text);
  if (std::holds_alternative<EndRecord>(record)) total_ = sum_.finish();
}

void encode(std::string& out, const Record& record) {
  std::visit(Encoder{out}, record);
}

std::string pack_records(std::string records, Packer& packer) {
  const auto packed = packer.pack(records);
  if (!packed) return records;
  std::string out(1, kPacked);
  put_number(out, records.size(), 4);
  put_text(out, *packed);
  return out;
}

void Decoder::add(std::string_view piece) {
  buffer_.erase(0, at_);
  at_ = 0;
  buffer_ += piece;
}

std::optional<Record> Decoder::next() try {
  if (run_.empty()) unpack();
  const bool is_packed = !run_.empty();
  Fields fields(is_packed ? run_ : std::string_view(buffer_).substr(at_));
  Record record = read_record(fields);
  if (is_packed)
    run_.remove_prefix(fields.used());
  else
    at_ += fields.used();
  return record;
} catch (const Incomplete&) {
  if (!run_.empty()) throw bad_record("a record is longer than what it is packed with");
  return std::nullopt;
}

/// Unpacks the next bytes if they are packed.
void Decoder::unpack() {
  Fields fields(std::string_view(buffer_).substr(at_));
  if (fields.take(1)[0] != kPacked) return;
  const auto size = static_cast<std::size_t>(fields.number(4));
  run_ = unpacker_.unpack(fields.text(kLongestRun), size);
  at_ += fields.used();
}

}  // namespace fastgpu::transfer
