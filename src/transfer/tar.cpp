#include "transfer/tar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::transfer {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 50;
// The limit for a path, and for the pax header of an entry.
constexpr std::uint64_t kLongestHeaderText = 1UL << 20;
constexpr FileTime kSecond = 1'000'000'000;
// A limit in seconds; no FileTime is later.
constexpr std::uint64_t kLatest = std::uint64_t{1} << 33;

/// A field of a header.
struct Field {
  std::size_t at;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kSum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kTarget{157, 100};
constexpr Field kMagic{257, 6};
constexpr Field kPrefix{345, 155};

Error bad_archive(const std::string& what) {
  return {ErrorKind::usage, "it is not a tar archive, or damaged: " + what};
}

std::string_view field(std::string_view header, Field where) {
  return header.substr(where.at, where.size);
}

/// Returns the field's text up to a NUL.
std::string text_in(std::string_view header, Field where) {
  const std::string_view text = field(header, where);
  return std::string(text.substr(0, text.find('\0')));
}

/// Reads a number in octal digits, or, if its first bit is set, in binary form.
std::uint64_t number_in(std::string_view header, Field where) {
  constexpr unsigned char kBinary = 0x80;
  std::string_view text = field(header, where);
  std::uint64_t value = 0;
  if (static_cast<unsigned char>(text.front()) == kBinary) {
    for (const char byte : text.substr(1)) {
      if (value > kLargest) throw bad_archive("a number that is too large");
      value = (value << 8) | static_cast<unsigned char>(byte);
    }
    return value;
  }
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  const std::string_view digits = text.substr(0, text.find_first_not_of("01234567"));
  if (text.size() > digits.size() && text[digits.size()] != ' ' && text[digits.size()] != '\0')
    throw bad_archive("'" + printable(text) + "' is not a number");
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  return value;
}

/// Returns the checksum of the header, for which the checksum's own field counts as blanks.
std::uint64_t sum_of(std::string_view header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool is_own = i >= kSum.at && i < kSum.at + kSum.size;
    sum += is_own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == bytes.npos;
}

TarKind kind_of(char type) {
  switch (type) {
    case '\0':
    case '0':
    case '7':
      return TarKind::file;
    case '1':
      return TarKind::hard_link;
    case '2':
      return TarKind::link;
    case '5':
      return TarKind::directory;
    default:
      return TarKind::other;
  }
}

std::string path_in(std::string_view header) {
  const std::string name = text_in(header, kName);
  const bool is_posix = field(header, kMagic) == std::string_view("ustar\0", kMagic.size);
  const std::string prefix =
      is_posix ? text_in(header, kPrefix) : "";  // GNU's format has other fields there.
  return prefix.empty() ? name : prefix + "/" + name;
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  return path;
}

}  // namespace

std::optional<TarEntry> TarReader::next() {
  skip_rest();
  Extension extension;
  while (read_header()) {
    const char type = header_[kType];
    const std::uint64_t size = number_in(header_, kSize);
    if (size > kLargest) throw bad_archive("an entry of " + std::to_string(size) + " bytes");
    if (type == 'L') {
      extension.path = text_in(read_text(size), {0, size});
    } else if (type == 'K') {
      extension.target = text_in(read_text(size), {0, size});
    } else if (type == 'x') {
      take_pax(read_text(size), extension);
    } else if (type == 'g') {
      read_text(size);  // A header for all entries: none of its fields is needed here.
    } else {
      TarEntry entry = entry_of(extension);
      left_ = entry.size;
      padding_ = (kBlock - left_ % kBlock) % kBlock;
      return entry;
    }
  }
  expect_end();
  return std::nullopt;
}

std::size_t TarReader::read(std::span<char> out) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left_));
  fill(out.first(size));
  left_ -= size;
  return size;
}

/// Returns false at the end of the archive.
bool TarReader::read_header() {
  header_.resize(kBlock);
  fill(header_);
  if (is_zero(header_)) return false;
  if (number_in(header_, kSum) != sum_of(header_))
    throw bad_archive("the sum of an entry is wrong");
  return true;
}

void TarReader::fill(std::span<char> out) {
  if (!out.empty() && read_bytes_(out) < out.size()) throw Error(ErrorKind::usage, "it is cut off");
}

void TarReader::skip_rest() {
  std::array<char, 32 * kBlock> passed{};
  for (left_ += std::exchange(padding_, 0); left_ > 0;)
    read(passed);
}

/// Reads to the end: archives are padded with zeros. The decompressor must also reach its end,
/// because its checksum comes last.
void TarReader::expect_end() {
  std::array<char, 32 * kBlock> rest{};
  for (std::size_t size = 0; (size = read_bytes_(rest)) > 0;)
    if (!is_zero({rest.data(), size})) throw bad_archive("something comes after its end");
}

std::string TarReader::read_text(std::uint64_t size) {
  if (size > kLongestHeaderText) throw bad_archive("a name of " + std::to_string(size) + " bytes");
  std::string text(size, '\0');
  left_ = size;
  padding_ = (kBlock - size % kBlock) % kBlock;
  read(text);
  skip_rest();
  return text;
}

/// Parses lines of the form "LENGTH KEY=VALUE".
void TarReader::take_pax(const std::string& text, Extension& extension) const {
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t length = 0;
    const char* const digits_end =
        std::from_chars(rest.data(), rest.data() + rest.size(), length).ptr;
    const auto digits = static_cast<std::size_t>(digits_end - rest.data());
    const auto equals = rest.find('=');
    if (length > rest.size() || length < digits + 2 || rest[digits] != ' ' || equals >= length ||
        rest[length - 1] != '\n')
      throw bad_archive("an entry's pax header");
    const std::string_view key = rest.substr(digits + 1, equals - digits - 1);
    const std::string value(rest.substr(equals + 1, length - equals - 2));
    if (key == "path") extension.path = value;
    if (key == "linkpath") extension.target = value;
    if (key == "size") {
      const auto size = to_number<std::uint64_t>(value);
      if (!size || *size > kLargest) throw bad_archive("'" + printable(value) + "' is not a size");
      extension.size = *size;
    }
    if (key.starts_with("GNU.sparse")) throw bad_archive("it leaves out what is empty (--sparse)");
    rest.remove_prefix(length);
  }
}

TarEntry TarReader::entry_of(const Extension& extension) const {
  TarEntry entry{
      .kind = kind_of(header_[kType]),
      .path = without_slashes(extension.path.value_or(path_in(header_))),
      .target = extension.target.value_or(text_in(header_, kTarget)),
      .mode = static_cast<std::uint32_t>(number_in(header_, kMode)),
      .size = extension.size.value_or(number_in(header_, kSize)),
      .modified = static_cast<FileTime>(std::min(number_in(header_, kTime), kLatest)) * kSecond};
  if (entry.kind != TarKind::file && entry.size != 0)
    throw bad_archive(printable(entry.path) + " has a content, and is not a file");
  return entry;
}

}  // namespace fastgpu::transfer
