#include "report.hpp"

#include <cstdio>

namespace digits {
namespace {

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

std::string hex(std::uint64_t value) {
  return format("%016llx", static_cast<unsigned long long>(value));
}

}  // namespace

std::string line_of(const Epoch& epoch) {
  return format("epoch %zu  loss %.4f  test accuracy %.2f %%  %.2f s", epoch.number, epoch.loss,
                100 * epoch.accuracy, epoch.time.count());
}

std::optional<std::size_t> first_different(const std::vector<std::uint64_t>& hashes) {
  for (std::size_t rank = 0; rank < hashes.size(); ++rank)
    if (hashes[rank] != hashes[0]) return rank;
  return std::nullopt;
}

std::string equality_line(const std::vector<std::uint64_t>& hashes) {
  if (const auto rank = first_different(hashes))
    return "parameters: rank " + std::to_string(*rank) + " differs from rank 0 (hash " +
           hex(hashes[*rank]) + ", not " + hex(hashes[0]) + ")";
  return "parameters: equal on all " + std::to_string(hashes.size()) + " ranks (hash " +
         hex(hashes.at(0)) + ")";
}

std::string json_of(const Result& result, const Options& options) {
  const std::string equal = first_different(result.hashes) ? "false" : "true";
  return format(
             "{\"schema\": \"fastgpu-digits/1\", \"ranks\": %zu, \"epochs\": %zu, "
             "\"global_batch\": %zu, \"seed\": %llu, \"loss\": %.9g, \"accuracy\": %.9g, "
             "\"seconds\": %.3f, ",
             result.hashes.size(), options.epochs, options.global_batch,
             static_cast<unsigned long long>(options.seed), result.last.loss, result.last.accuracy,
             result.time.count()) +
         "\"parameters_equal\": " + equal + ", \"hash\": \"" + hex(result.hashes.at(0)) + "\"}\n";
}

}  // namespace digits
