#include "provision/merged_refusals.hpp"

#include <algorithm>
#include <optional>
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

  std::string text() const { return begin + joined(words) + end; }
};

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
  return Alike{a.substr(0, from), {first, second}, end};
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
    if (contains(told, sentence)) continue;
    told.push_back(sentence);
    const auto is_added = [&](Alike& alike) { return add(alike, sentence); };
    if (std::ranges::none_of(groups, is_added)) groups.push_back({.begin = sentence});
  }
  std::string all;
  for (const Alike& alike : std::span(groups).first(std::min(groups.size(), kMostSentences)))
    append_item(all, alike.text(), "; and elsewhere ");
  if (groups.size() > kMostSentences)
    all += "; all " + counted(sentences.size(), "place") + " that were asked refused";
  return all;
}

}  // namespace fastgpu::provision
