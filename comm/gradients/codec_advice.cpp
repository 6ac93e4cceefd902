#include "comm/gradients/codec_advice.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "comm/codecs/codec_table.hpp"
#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kNumbers = std::size_t{1} << 20;
constexpr int kRounds = 3;

/// Returns the least time of several rounds.
template <class Action>
double seconds_of_best(Action action) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto began = std::chrono::steady_clock::now();
    action();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    best = round == 0 ? taken.count() : std::min(best, taken.count());
  }
  return best;
}

/// Numbers of many sizes, as gradients have them.
std::vector<float> some_numbers() {
  std::vector<float> numbers(kNumbers);
  std::uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1'664'525U + 1'013'904'223U;
    const float one = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
    number = one * one * one;
  }
  return numbers;
}

CodecCost cost_of_halves() {
  const std::vector<float> numbers = some_numbers();
  std::vector<float> back(kNumbers);
  std::vector<Float16> halves(kNumbers);
  const double seconds = seconds_of_best([&] {
    const auto wire = std::as_writable_bytes(std::span(halves));
    convert(wire, std::as_bytes(std::span(numbers)), {ElementType::float32, ElementType::float16});
    convert(std::as_writable_bytes(std::span(back)), wire,
            {ElementType::float16, ElementType::float32});
  });
  return {"fp16", 0.5, seconds / (kNumbers * sizeof(float))};
}

/// A sparse code goes from each node to every other, a dense one is summed on its way.
CodecCost cost_of(const CodecChoice& choice, std::size_t nodes) {
  const CodecEntry& entry = entry_of(choice.id);
  const auto codec = make_codec(choice);
  std::vector<float> numbers = some_numbers();
  std::vector<float> sum(kNumbers);
  std::vector<std::byte> code(codec->encoded_bytes(kNumbers));
  const std::size_t codes = entry.is_dense ? 2 : nodes;
  const double seconds = seconds_of_best([&] {
    if (entry.has_feedback)
      codec->encode_with_feedback(code, numbers, 1);
    else
      codec->encode(code, numbers, 1);
    for (std::size_t i = 0; i < codes; ++i)
      codec->add(sum, code, 1);
  });
  constexpr double kBytes = kNumbers * sizeof(float);
  const double part = static_cast<double>(code.size()) / kBytes;
  const double sent = entry.is_dense ? part : part * static_cast<double>(nodes) / 2;
  return {text_of(choice), sent, seconds / kBytes};
}

}  // namespace

std::optional<CodecAdvice> advised_codec(const PlainStep& step, std::span<const CodecCost> costs) {
  if (step.bytes_per_second <= 0) return std::nullopt;
  std::optional<CodecAdvice> best;
  for (const CodecCost& cost : costs) {
    const double saved = step.bytes / step.bytes_per_second * (1 - cost.part);
    const double seconds =
        step.seconds - std::min(step.waited, saved) + cost.seconds_per_byte * step.bytes;
    if (seconds > (1 - kWorthwhileGain) * step.seconds) continue;
    if (!best || seconds < best->seconds) best = CodecAdvice{cost.wire, seconds};
  }
  return best;
}

std::vector<CodecCost> measured_costs(std::size_t nodes) {
  return {cost_of_halves(), cost_of({CodecId::int8}, nodes), cost_of({CodecId::one_bit}, nodes),
          cost_of({.id = CodecId::top_k, .part = 0.01}, nodes)};
}

std::string sentence_of(const CodecAdvice& advice, const PlainStep& step) {
  std::array<char, 64> times{};
  std::snprintf(times.data(), times.size(), "%.3g s instead of %.3g s", advice.seconds,
                step.seconds);
  return "FASTGPU_COMM_WIRE=" + advice.wire + " would make a step shorter on this network: about " +
         times.data() + ". It changes the sums: compare the loss first";
}

}  // namespace fastgpu::comm
