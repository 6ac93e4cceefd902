#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/unique_fd.hpp"
#include "base/units.hpp"
#include "comm/bench/models.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;
constexpr std::size_t kMostGradients = 100'000;
constexpr std::size_t kMostElements = 100'000'000'000;  ///< The maximum of all gradients together.
constexpr std::string_view kBlanks = " \t\r";

class LineError {
 public:
  LineError(const std::string& file, std::size_t line)
      : where_(file + ":" + std::to_string(line)) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::usage, where_ + ": " + why);
  }

 private:
  std::string where_;
};

/// Takes the next word off `line`; empty at its end.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

std::size_t number(std::string_view word, const LineError& at) {
  const auto value = to_number<std::size_t>(word);
  if (value && *value >= 1 && *value <= kMostElements) return *value;
  at.refuse("'" + printable(word) + "' is no number of elements from 1 to " +
            std::to_string(kMostElements));
}

std::optional<ModelGradient> parse_line(std::string_view line, const LineError& at) {
  const std::string_view all = line;
  const std::string_view name = next_word(line);
  if (name.empty() || name.starts_with('#')) return std::nullopt;
  const std::string_view elements = next_word(line);
  if (elements.empty() || !next_word(line).empty())
    at.refuse("'" + printable(all) + "' is not a gradient's name and its number of elements");
  return ModelGradient{std::string(name), number(elements, at)};
}

std::string text_of(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_error("opening the model " + file, errno);
  std::string text = read_to_end(fd.get(), "reading the model " + file, kMostBytes);
  if (text.size() > kMostBytes)
    throw Error(ErrorKind::usage,
                "the model " + file + " is longer than " + to_string(Bytes{kMostBytes}));
  return text;
}

}  // namespace

bool is_known_model(std::string_view word) noexcept {
  return contains(kModels, word);
}

Model find_model(const std::string& word) {
  if (word == "resnet50") return {word, resnet50()};
  if (word == "bert-large") return {word, bert_large()};
  std::error_code ignored;
  if (std::filesystem::is_regular_file(word, ignored))
    return {std::filesystem::path(word).filename().string(), parse_model(text_of(word), word)};
  const std::vector<std::string> known(kModels.begin(), kModels.end());
  const std::string near = nearest_name(word, known);
  throw Error(ErrorKind::not_found, "model '" + printable(word) +
                                        "' is neither resnet50 nor bert-large nor a file" +
                                        (near.empty() ? "" : "; did you mean " + near + "?"));
}

std::vector<ModelGradient> parse_model(std::string_view text, const std::string& file) {
  std::vector<ModelGradient> gradients;
  std::map<std::string, std::size_t> lines;
  std::size_t elements = 0;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view here = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(here.size() + 1, text.size()));
    const LineError at(file, line);
    auto gradient = parse_line(here, at);
    if (!gradient) continue;
    const auto [earlier, is_new] = lines.emplace(gradient->name, line);
    if (!is_new)
      at.refuse("gradient '" + printable(gradient->name) + "' is in line " +
                std::to_string(earlier->second) + " already");
    elements += gradient->elements;
    if (elements > kMostElements || gradients.size() == kMostGradients)
      at.refuse("a model has at most " + std::to_string(kMostGradients) + " gradients and " +
                std::to_string(kMostElements) + " elements");
    gradients.push_back(std::move(*gradient));
  }
  if (gradients.empty())
    throw Error(ErrorKind::usage,
                file + " has no gradients: it has a line of 'name elements' for each");
  return gradients;
}

}  // namespace fastgpu::comm::bench
