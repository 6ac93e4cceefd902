#include "envs/environments/wheel.hpp"

#include <zlib.h>

#include <cstdint>

#include "base/error.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kLargestFile = 512UL << 20;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;

// The records of a zip archive: their marks, and their lengths without names and other variable
// parts.
constexpr std::uint32_t kEndMark = 0x06054b50;
constexpr std::size_t kEndSize = 22;
constexpr std::uint32_t kEntryMark = 0x02014b50;
constexpr std::size_t kEntrySize = 46;
constexpr std::uint32_t kFileMark = 0x04034b50;
constexpr std::size_t kFileSize = 30;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::remote, "the wheel cannot be read: " + why);
}

/// Returns a part of the archive, from `at` on.
std::string_view part(std::string_view bytes, std::size_t at, std::size_t size) {
  if (at > bytes.size() || bytes.size() - at < size) refuse("it is truncated");
  return bytes.substr(at, size);
}

template <class T>
T number(std::string_view bytes, std::size_t at) {
  T value = 0;
  const std::string_view text = part(bytes, at, sizeof(T));
  for (std::size_t i = sizeof(T); i-- > 0;)
    value = static_cast<T>((value << 8U) | static_cast<unsigned char>(text[i]));
  return value;
}

std::size_t find_end(std::string_view bytes) {
  for (std::size_t at = bytes.size() < kEndSize ? 0 : bytes.size() - kEndSize + 1; at-- > 0;)
    if (number<std::uint32_t>(bytes, at) == kEndMark) return at;
  refuse("it is not a zip archive");
}

std::string inflated(std::string_view packed, std::size_t size) {
  if (size > kLargestFile) refuse("a file in it is larger than 512 MiB");
  std::string out(size, '\0');
  z_stream stream{};
  stream.next_in = const_cast<Bytef*>(  // zlib does not write there.
      reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) refuse("zlib has no memory");
  const int ended = ::inflate(&stream, Z_FINISH);
  ::inflateEnd(&stream);
  if (ended != Z_STREAM_END || stream.total_out != size) refuse("a file in it is damaged");
  return out;
}

/// Returns the content for the directory's entry at `entry`.
std::string content_of(std::string_view bytes, std::size_t entry) {
  const auto method = number<std::uint16_t>(bytes, entry + 10);
  const auto sum = number<std::uint32_t>(bytes, entry + 16);
  const auto packed_size = number<std::uint32_t>(bytes, entry + 20);
  const auto size = number<std::uint32_t>(bytes, entry + 24);
  const auto at = number<std::uint32_t>(bytes, entry + 42);
  if (number<std::uint32_t>(bytes, at) != kFileMark) refuse("its directory points to no file");
  const std::size_t names =
      std::size_t{number<std::uint16_t>(bytes, at + 26)} + number<std::uint16_t>(bytes, at + 28);
  const std::string_view packed = part(bytes, at + kFileSize + names, packed_size);
  if (method != kStored && method != kDeflated)
    refuse("a file in it has an unknown compression method");
  std::string content = method == kStored ? std::string(packed) : inflated(packed, size);
  const auto* const data = reinterpret_cast<const Bytef*>(content.data());
  if (::crc32(0, data, static_cast<uInt>(content.size())) != sum) refuse("a file in it is damaged");
  return content;
}

}  // namespace

std::string file_in_wheel(std::string_view bytes, std::string_view name) {
  const std::size_t end = find_end(bytes);
  std::size_t at = number<std::uint32_t>(bytes, end + 16);
  for (auto left = number<std::uint16_t>(bytes, end + 10); left > 0; --left) {
    if (number<std::uint32_t>(bytes, at) != kEntryMark) refuse("its directory is damaged");
    const auto name_size = number<std::uint16_t>(bytes, at + 28);
    if (part(bytes, at + kEntrySize, name_size) == name) return content_of(bytes, at);
    at += kEntrySize + name_size + number<std::uint16_t>(bytes, at + 30) +
          number<std::uint16_t>(bytes, at + 32);
  }
  refuse("there is no " + std::string(name) + " in it");
}

}  // namespace fastgpu::envs
