#include "provision/merged_refusals.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contains.hpp"
#include "base/counted.hpp"
#include "base/join.hpp"

namespace fastgpu::provision {
namespace {

constexpr std::size_t kMostSentences = 4;

/// Sentences that are equal but for the word between `begin` and `end`.
struct Alike {
  std::string begin{};
  std::vector<std::string> words{};  ///< Empty as long as there is only one sentence, `begin`.
  std::string end{};
  std::string first{};  ///< The first sentence, with the id of its request.

  std::string text() const { return words.empty() ? first : begin + joined(words) + end; }
};

/// Returns the sentence without " (request 1234)", and without a full stop before it: each refusal
/// has an id of its own.
std::string without_request(const std::string& sentence) {
  constexpr std::string_view kBegin = " (request ";
  const std::size_t from = sentence.find(kBegin);
  const std::size_t to = from == std::string::npos ? from : sentence.find(')', from);
  if (to == std::string::npos) return sentence;
  const bool has_stop = from > 0 && sentence[from - 1] == '.';
  return sentence.substr(0, has_stop ? from - 1 : from) + sentence.substr(to + 1);
}

bool ends_a_word(char c) {
  return c == ' ' || c == ':' || c == ';' || c == ',' || c == ')';
}

/// Returns the two sentences as one that differs in one word; absent if they differ in more.
std::optional<Alike> merged(const std::string& a, const std::string& b) {
  const auto differ = std::ranges::mismatch(a, b);
  auto from = static_cast<std::size_t>(differ.in1 - a.begin());
  from = from == 0 ? 0 : a.rfind(' ', from - 1) + 1;  // npos + 1 is 0.
  const auto word_in = [from](const std::string& text) {
    const auto end =
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), ends_a_word);
    return text.substr(from, static_cast<std::size_t>(end - text.begin()) - from);
  };
  const std::string first = word_in(a);
  const std::string second = word_in(b);
  const std::string end = a.substr(from + first.size());
  if (first.empty() || second.empty() || end != b.substr(from + second.size())) return std::nullopt;
  return Alike{.begin = a.substr(0, from), .words = {first, second}, .end = end};
}

/// Adds a sentence to those like it. Returns false if it is unlike them.
bool add(Alike& alike, const std::string& sentence) {
  if (alike.words.empty()) {
    auto both = merged(alike.begin, sentence);
    if (both) alike = std::move(*both);
    return both.has_value();
  }
  const std::size_t rest = alike.begin.size() + alike.end.size();
  if (sentence.size() <= rest || !sentence.starts_with(alike.begin) ||
      !sentence.ends_with(alike.end))
    return false;
  const std::string word = sentence.substr(alike.begin.size(), sentence.size() - rest);
  if (std::ranges::any_of(word, ends_a_word)) return false;
  alike.words.push_back(word);
  return true;
}

}  // namespace

std::string merged_refusals(std::span<const std::string> sentences) {
  std::vector<std::string> told;
  std::vector<Alike> groups;
  for (const std::string& sentence : sentences) {
    const std::string plain = without_request(sentence);
    if (contains(told, plain)) continue;
    told.push_back(plain);
    const auto is_added = [&](Alike& alike) { return add(alike, plain); };
    if (std::ranges::none_of(groups, is_added))
      groups.push_back({.begin = plain, .first = sentence});
  }
  std::string all;
  for (const Alike& alike : std::span(groups).first(std::min(groups.size(), kMostSentences)))
    append_item(all, alike.text(), "; and elsewhere ");
  if (groups.size() > kMostSentences)
    all += "; all " + counted(sentences.size(), "place") + " that were asked refused";
  return all;
}

}  // namespace fastgpu::provision
