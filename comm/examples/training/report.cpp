#include "report.hpp"

#include <cstdio>

namespace training {
namespace {

constexpr double kMegabyte = 1e6;

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof(text), pattern, values...);
  return text;
}

std::string hex(std::uint64_t value) {
  return format("%016llx", static_cast<unsigned long long>(value));
}

const char* name_of(fgc_type type) {
  if (type == FGC_FLOAT16) return "fp16";
  return type == FGC_BFLOAT16 ? "bf16" : "fp32";
}

std::string curve_of(const std::vector<Epoch>& epochs) {
  std::string curve;
  for (const Epoch& epoch : epochs)
    curve += (curve.empty() ? "" : ", ") +
             format(
                 "{\"epoch\": %zu, \"loss\": %.9g, \"accuracy\": %.9g, \"seconds\": %.3f, "
                 "\"bytes\": %llu}",
                 epoch.number, epoch.loss, epoch.accuracy, epoch.since_start.count(),
                 static_cast<unsigned long long>(epoch.bytes));
  return curve;
}

}  // namespace

std::string line_of(const Epoch& epoch) {
  return format("epoch %zu  loss %.4f  test accuracy %.2f %%  %.2f s  %.1f MB of gradients",
                epoch.number, epoch.loss, 100 * epoch.accuracy, epoch.since_start.count(),
                static_cast<double>(epoch.bytes) / kMegabyte);
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

std::string json_of(const std::string& program, const TrainingResult& result,
                    const TrainingOptions& options) {
  const Epoch& last = result.epochs.back();
  return "{\"schema\": \"fastgpu-training/1\", \"program\": \"" + program + "\", " +
         format(
             "\"ranks\": %zu, \"wire\": \"%s\", \"epochs\": %zu, \"global_batch\": %zu, "
             "\"seed\": %llu, \"loss\": %.9g, \"accuracy\": %.9g, \"seconds\": %.3f, ",
             result.hashes.size(), name_of(result.wire), options.epochs, options.global_batch,
             static_cast<unsigned long long>(options.seed), last.loss, last.accuracy,
             last.since_start.count()) +
         "\"parameters_equal\": " + (first_different(result.hashes) ? "false" : "true") +
         ", \"hash\": \"" + hex(result.hashes.at(0)) + "\", \"curve\": [" +
         curve_of(result.epochs) + "]}\n";
}

}  // namespace training
