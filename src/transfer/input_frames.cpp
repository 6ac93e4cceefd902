#include "transfer/input_frames.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::transfer {
namespace {

constexpr std::string_view kInputMagic = "FGI1";
constexpr std::size_t kInputHeader = 20;  // Magic, kind, three zeros, length, offset.
// The limit of the kernel, including the NUL.
constexpr std::size_t kLongestVariable = 128UL << 10;

void put(std::string& out, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i)
    out += static_cast<char>(value >> (8 * i) & 255);
}

std::uint64_t get(std::string_view from, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i)
    value |= std::uint64_t(static_cast<unsigned char>(from[at + i])) << (8 * i);
  return value;
}

std::size_t length_of(std::string_view header) {
  const auto kind = get(header, 4, 1);
  const auto length = get(header, 8, 4);
  const bool good = header.starts_with(kInputMagic) && kind >= 1 && kind <= 3 &&
                    get(header, 5, 3) == 0 && length <= kLargestInputFrame;
  if (good) return length;
  throw Error(ErrorKind::remote,
              "standard input: '" + printable(header) + "' is not the start of a frame");
}

}  // namespace

std::string to_text(const InputFrame& frame, std::string_view bytes) {
  assert(bytes.size() <= kLargestInputFrame);
  std::string out(kInputMagic);
  put(out, static_cast<std::uint64_t>(frame.kind), 4);
  put(out, bytes.size(), 4);
  put(out, frame.offset, 8);
  return out.append(bytes);
}

std::string encode_variables(std::span<const std::string> assignments) {
  std::string out;
  for (const std::string& assignment : assignments) {
    if (assignment.size() >= kLongestVariable)
      throw Error(ErrorKind::usage, "the variable " +
                                        printable(assignment.substr(0, assignment.find('='))) +
                                        " has " + std::to_string(assignment.size()) +
                                        " bytes with its name; a program accepts at most " +
                                        std::to_string(kLongestVariable - 1));
    out.append(assignment) += '\0';
  }
  if (out.size() > kLargestInputFrame)
    throw Error(ErrorKind::usage, "the variables have " + std::to_string(out.size()) +
                                      " bytes in total; at most " +
                                      std::to_string(kLargestInputFrame) + " are allowed");
  return out;
}

std::vector<std::string> decode_variables(std::string_view text) {
  std::vector<std::string> assignments;
  while (!text.empty()) {
    const auto end = text.find('\0');
    const auto equals = text.find('=');
    if (end == std::string_view::npos || equals == 0 || equals > end)
      throw Error(ErrorKind::remote, "standard input: a variable is cut off or has no '='");
    assignments.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return assignments;
}

void InputDecoder::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (ended_) throw Error(ErrorKind::remote, "standard input: more comes behind its end");
    const std::size_t wanted = pending_.size() < kInputHeader
                                   ? kInputHeader
                                   : kInputHeader + length_of(pending_.substr(0, kInputHeader));
    const std::size_t taken = std::min(bytes.size(), wanted - pending_.size());
    pending_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (take_whole()) pending_.clear();
  }
}

bool InputDecoder::take_whole() {
  if (pending_.size() < kInputHeader) return false;
  const std::string_view all = pending_;
  const std::string_view content = all.substr(kInputHeader);
  if (content.size() < length_of(all.substr(0, kInputHeader))) return false;
  const InputFrame frame{.kind = static_cast<InputKind>(get(all, 4, 1)), .offset = get(all, 12, 8)};
  ended_ = frame.kind == InputKind::end;
  sink_(frame, content);
  return true;
}

}  // namespace fastgpu::transfer
