#include "dataset.hpp"

#include <cerrno>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "random.hpp"

namespace digits {
namespace {

constexpr int kBrightest = 16;
constexpr std::uint64_t kSplitSeed = 1998;  // The set's year; any other number would do.
constexpr std::size_t kOneInTest = 5;

/// Takes a number from 0 to `most` and the separator behind it off `line`.
bool take_number(std::string_view& line, int most, int& value) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc() || value < 0 || value > most) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.empty()) return true;
  const bool is_separated = line.front() == ',' && line.size() > 1;
  line.remove_prefix(1);
  return is_separated;
}

bool parse_sample(std::string_view line, Sample& sample) {
  int value = 0;
  for (float& pixel : sample.pixels) {
    if (!take_number(line, kBrightest, value)) return false;
    pixel = static_cast<float>(value) / kBrightest;
  }
  if (!take_number(line, kClasses - 1, value)) return false;
  sample.digit = static_cast<std::size_t>(value);
  return line.empty();
}

}  // namespace

Samples read_samples(std::istream& in, const std::string& name) {
  Samples samples;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!parse_sample(line, samples.emplace_back()))
      throw std::runtime_error(name + ":" + std::to_string(samples.size()) +
                               ": not 64 numbers from 0 to 16 and a digit");
  }
  if (samples.empty()) throw std::runtime_error(name + " has no samples");
  return samples;
}

Samples load_samples(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in)
    throw std::runtime_error("opening " + file.string() + ": " +
                             std::generic_category().message(errno) + "; name the data by --data");
  return read_samples(in, file.string());
}

Split split(const Samples& samples) {
  std::array<std::vector<std::size_t>, kClasses> of_digit;
  for (std::size_t i = 0; i < samples.size(); ++i)
    of_digit[samples[i].digit].push_back(i);
  Random random(kSplitSeed);
  Split result;
  for (auto& indices : of_digit) {
    random.shuffle(indices);
    const std::size_t tests = indices.size() / kOneInTest;
    for (std::size_t i = 0; i < indices.size(); ++i)
      (i < tests ? result.test : result.training).push_back(samples[indices[i]]);
  }
  return result;
}

}  // namespace digits
