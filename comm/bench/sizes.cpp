#include "comm/bench/sizes.hpp"

#include <string>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 36;
constexpr std::uint64_t kMostFactor = 1 << 20;
constexpr std::size_t kMostSizes = 1000;

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::usage, "--sizes '" + printable(text) + "': " + why);
}

Bytes one_size(std::string_view text) {
  std::string word(text);
  constexpr std::string_view kPowersOfTwo = "kKmMgG";
  if (!word.empty() && kPowersOfTwo.find(word.back()) != std::string_view::npos) word += "iB";
  const Bytes size = parse_size(word);
  if (size.count < 1 || size.count > kMost)
    throw Error(ErrorKind::usage, "'" + printable(text) + "' is not from 1 byte to 64G");
  return size;
}

std::uint64_t factor_of(std::string_view text) {
  const auto factor = to_number<std::uint64_t>(text);
  if (factor && *factor >= 2 && *factor <= kMostFactor) return *factor;
  throw Error(ErrorKind::usage, "the factor '" + printable(text) + "' is no number from 2 on");
}

std::vector<Bytes> range(const std::vector<std::string_view>& parts) {
  const Bytes least = one_size(parts[0]);
  const Bytes most = one_size(parts[1]);
  const std::uint64_t factor = parts.size() > 2 ? factor_of(parts[2]) : 2;
  if (least > most) throw Error(ErrorKind::usage, "it ends before it begins");
  std::vector<Bytes> sizes;
  for (std::uint64_t size = least.count; size <= most.count; size *= factor)
    sizes.push_back({size});
  return sizes;
}

std::vector<Bytes> list(const std::vector<std::string_view>& parts) {
  if (parts.size() > kMostSizes)
    throw Error(ErrorKind::usage, "there are more than " + std::to_string(kMostSizes));
  std::vector<Bytes> sizes;
  for (const std::string_view part : parts)
    sizes.push_back(one_size(part));
  return sizes;
}

}  // namespace

std::vector<Bytes> parse_sizes(std::string_view text) {
  const auto ends = split(text, ':');
  if (ends.size() > 3) refuse(text, "write LEAST:MOST:FACTOR, as in 8:128M:4, or a list");
  try {
    return ends.size() > 1 ? range(ends) : list(split(text, ','));
  } catch (const Error& e) {
    refuse(text, e.what());
  }
}

}  // namespace fastgpu::comm::bench
