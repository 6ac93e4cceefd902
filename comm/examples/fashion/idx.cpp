#include "idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace fashion {
namespace {

constexpr std::uint8_t kUnsignedBytes = 8;
constexpr std::size_t kNumberBytes = 4;
constexpr std::size_t kChunk = 1 << 20;

std::size_t number_at(std::span<const std::uint8_t> file, std::size_t place) {
  std::size_t number = 0;
  for (const std::uint8_t byte : file.subspan(place, kNumberBytes))
    number = number << 8 | byte;
  return number;
}

struct CloseGzip {
  void operator()(gzFile file) const noexcept { gzclose_r(file); }
};
using Gzip = std::unique_ptr<gzFile_s, CloseGzip>;

Gzip open_gzip(const std::filesystem::path& file) {
  errno = 0;
  Gzip in(gzopen(file.c_str(), "rb"));
  if (!in)
    throw std::runtime_error("opening " + file.string() + ": " +
                             std::generic_category().message(errno == 0 ? ENOMEM : errno));
  return in;
}

}  // namespace

Idx decode_idx(std::span<const std::uint8_t> file, std::size_t dimensions,
               const std::string& name) {
  const std::size_t header = kNumberBytes * (1 + dimensions);
  const bool is_known = file.size() >= header && file[0] == 0 && file[1] == 0 &&
                        file[2] == kUnsignedBytes && file[3] == dimensions;
  if (!is_known)
    throw std::runtime_error(name + ": no IDX file of bytes with " + std::to_string(dimensions) +
                             " dimensions");
  const auto values = file.subspan(header);
  Idx idx{{}, values};
  std::size_t product = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    idx.lengths.push_back(number_at(file, kNumberBytes * (1 + i)));
    const bool is_too_much =
        idx.lengths.back() != 0 && product > values.size() / idx.lengths.back();
    if (is_too_much) throw std::runtime_error(name + ": it ends before its last value");
    product *= idx.lengths.back();
  }
  if (product != values.size())
    throw std::runtime_error(name + ": " + std::to_string(values.size() - product) +
                             " bytes behind its last value");
  return idx;
}

std::vector<std::uint8_t> read_gzip(const std::filesystem::path& file, std::size_t most) {
  const Gzip in = open_gzip(file);
  std::vector<std::uint8_t> bytes;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kChunk);
    const int count = gzread(in.get(), bytes.data() + before, kChunk);
    int error = Z_OK;
    const char* const reason = gzerror(in.get(), &error);
    if (count < 0 || error != Z_OK) throw std::runtime_error(file.string() + ": " + reason);
    bytes.resize(before + static_cast<std::size_t>(count));
    if (count == 0) return bytes;
    if (bytes.size() > most)
      throw std::runtime_error(file.string() + ": more than " + std::to_string(most) + " bytes");
  }
}

}  // namespace fashion
