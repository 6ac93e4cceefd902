// The time of each codec beside a copy of as many bytes: a line of JSON for each codec and length.
// Usage: bench_comm_codecs CODEC [CODEC ...], such as int8 or topk:0.01.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/codecs/codec_table.hpp"
#include "comm/codecs/low_rank.hpp"

namespace fastgpu::comm {
namespace {

using Seconds = std::chrono::duration<double>;
using Numbers = std::vector<float>;

constexpr int kRounds = 101;
constexpr std::size_t kLengths[] = {std::size_t{1} << 18, std::size_t{1} << 20,
                                    std::size_t{1} << 24};

/// Numbers of many sizes, as gradients have them.
Numbers gradient_of(std::size_t count) {
  Numbers numbers(count);
  std::mt19937 random(1);
  for (float& number : numbers) {
    const float one = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F;
    number = one * one * one;
  }
  return numbers;
}

/// Returns the seconds of each action, the medians of rounds in which all take turns.
std::vector<double> seconds_in_turns(const std::vector<std::function<void()>>& actions) {
  std::vector<std::vector<double>> seconds(actions.size());
  for (int round = 0; round < kRounds + 1; ++round)
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const auto began = std::chrono::steady_clock::now();
      actions[i]();
      const double taken = Seconds(std::chrono::steady_clock::now() - began).count();
      if (round > 0) seconds[i].push_back(taken);  // Memory is touched in the first.
    }
  std::vector<double> medians;
  for (auto& each : seconds) {
    std::ranges::nth_element(each, each.begin() + kRounds / 2);
    medians.push_back(each[kRounds / 2]);
  }
  return medians;
}

/// Returns an action that reads as many bytes as it writes, both together `bytes`.
std::function<void()> copy_of(std::vector<std::byte>& memory, std::size_t bytes) {
  memory.resize(bytes);
  return [&memory, bytes] { std::memcpy(memory.data(), memory.data() + bytes / 2, bytes / 2); };
}

struct Line {
  std::string codec;
  std::size_t elements;
  std::size_t code_bytes;
  double encode = 0;
  double add = 0;
  double encode_copy = 0;  ///< A copy of the bytes that encoding reads and writes.
  double add_copy = 0;
};

void print(const Line& line) {
  std::printf(
      "{\"codec\": \"%s\", \"elements\": %zu, \"code_bytes\": %zu, \"encode_seconds\": %.9f, "
      "\"encode_copy_seconds\": %.9f, \"add_seconds\": %.9f, \"add_copy_seconds\": %.9f}\n",
      line.codec.c_str(), line.elements, line.code_bytes, line.encode, line.encode_copy, line.add,
      line.add_copy);
}

/// Returns the bytes of the cache lines in which there is at least one of `part` of all numbers, if
/// these are anywhere.
std::size_t bytes_of_lines_with(double part, std::size_t bytes) {
  constexpr double kInLine = 16;  // Of 64 bytes.
  return static_cast<std::size_t>(static_cast<double>(bytes) * (1 - std::pow(1 - part, kInLine)));
}

/// Measures a codec of vectors: encoding reads the numbers, and writes the code and the residual,
/// of which a codec of few numbers changes the lines that these are taken from; adding reads the
/// code, and reads and writes the sum.
Line measure_codes(const std::string& text, const CodecChoice& choice, std::size_t count) {
  const auto codec = make_codec(choice);
  const bool has_feedback = entry_of(choice.id).has_feedback;
  const bool is_sparse = choice.part > 0;
  const std::size_t code_bytes = codec->encoded_bytes(count);
  const Numbers gradient = gradient_of(count);
  Numbers values = gradient;
  Numbers sum(count);
  std::vector<std::byte> code(code_bytes), first, second;
  std::uint64_t seed = 0;
  const std::size_t read = count * sizeof(float);
  const std::size_t residual = is_sparse ? bytes_of_lines_with(choice.part, read) : read;
  const std::size_t encoded = read + code_bytes + (has_feedback ? residual : 0);
  const std::size_t added = code_bytes + (is_sparse ? 2 * residual : 2 * read);
  const auto seconds = seconds_in_turns({[&] { std::ranges::copy(gradient, values.begin()); },
                                         [&] {
                                           if (has_feedback)
                                             codec->encode_with_feedback(code, values, ++seed);
                                           else
                                             codec->encode(code, values, ++seed);
                                         },
                                         [&] { codec->add(sum, code, 1); }, copy_of(first, encoded),
                                         copy_of(second, added)});
  return {text, count, code_bytes, seconds[1], seconds[2], seconds[3], seconds[4]};
}

/// Measures the products of a square matrix: the left factor, the right one and the residual read
/// the matrix each, and the residual writes it; the result is written.
Line measure_factors(const std::string& text, const CodecChoice& choice, std::size_t count) {
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
  const LowRankForm form{side, side, choice.thin};
  Numbers matrix = gradient_of(form.elements());
  Numbers left(form.left()), right(form.right()), result(form.elements());
  start_right(form, right, 1);
  std::vector<std::byte> first, second;
  const std::size_t read = form.elements() * sizeof(float);
  const auto seconds = seconds_in_turns({[&] {
                                           multiply(form, left, matrix, right);
                                           make_orthogonal(form, left);
                                           multiply_transposed(form, right, matrix, left);
                                           add_product(form, matrix, left, right, -1);
                                         },
                                         [&] {
                                           std::ranges::fill(result, 0.0F);
                                           add_product(form, result, left, right, 1);
                                         },
                                         copy_of(first, 4 * read), copy_of(second, 3 * read)});
  return {text,       form.elements(), (form.left() + form.right()) * sizeof(float),
          seconds[0], seconds[1],      seconds[2],
          seconds[3]};
}

}  // namespace
}  // namespace fastgpu::comm

int main(int count, char** arguments) try {
  namespace comm = fastgpu::comm;
  for (const char* const text : std::span(arguments, static_cast<std::size_t>(count)).subspan(1)) {
    const auto choice = comm::codec_choice(text);
    if (!choice)
      throw fastgpu::Error(fastgpu::ErrorKind::usage, std::string(text) + " is no codec");
    for (const std::size_t length : comm::kLengths)
      comm::print(comm::entry_of(choice->id).is_linear
                      ? comm::measure_factors(text, *choice, length)
                      : comm::measure_codes(text, *choice, length));
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
