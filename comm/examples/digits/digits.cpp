#include "digits.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "random.hpp"

namespace digits {
namespace {

using training::Dataset;
using training::kClasses;

constexpr int kBrightest = 16;
constexpr std::uint64_t kSplitSeed = 1998;  // The set's year; any other number would do.
constexpr std::size_t kOneInTest = 5;

Dataset no_digits() {
  return {.width = kPixels, .brightest = kBrightest};
}

/// Takes a number from 0 to `most` and the separator behind it off `line`.
bool take_number(std::string_view& line, int most, std::uint8_t& number) {
  int value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc() || value < 0 || value > most) return false;
  number = static_cast<std::uint8_t>(value);
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.empty()) return true;
  const bool is_separated = line.front() == ',' && line.size() > 1;
  line.remove_prefix(1);
  return is_separated;
}

bool parse_digit(std::string_view line, Dataset& digits) {
  std::uint8_t value = 0;
  for (std::size_t i = 0; i < kPixels; ++i) {
    if (!take_number(line, kBrightest, value)) return false;
    digits.pixels.push_back(value);
  }
  if (!take_number(line, kClasses - 1, value)) return false;
  digits.classes.push_back(value);
  return line.empty();
}

void add(Dataset& to, const Dataset& from, std::size_t index) {
  const auto image = from.image(index);
  to.pixels.insert(to.pixels.end(), image.begin(), image.end());
  to.classes.push_back(from.classes[index]);
}

}  // namespace

Dataset read_digits(std::istream& in, const std::string& name) {
  Dataset digits = no_digits();
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (!parse_digit(line, digits))
      throw std::runtime_error(name + ":" + std::to_string(number) +
                               ": not 64 numbers from 0 to 16 and a digit");
  }
  if (number == 0) throw std::runtime_error(name + " has no samples");
  return digits;
}

Dataset load_digits(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in)
    throw std::runtime_error("opening " + file.string() + ": " +
                             std::generic_category().message(errno) + "; name the data by --data");
  return read_digits(in, file.string());
}

training::Split split(const Dataset& digits) {
  std::array<std::vector<std::size_t>, kClasses> of_digit;
  for (std::size_t i = 0; i < digits.size(); ++i)
    of_digit[digits.classes[i]].push_back(i);
  training::Random random(kSplitSeed);
  training::Split result{no_digits(), no_digits()};
  for (auto& indices : of_digit) {
    random.shuffle(indices);
    const std::size_t tests = indices.size() / kOneInTest;
    for (std::size_t i = 0; i < indices.size(); ++i)
      add(i < tests ? result.test : result.training, digits, indices[i]);
  }
  return result;
}

}  // namespace digits
