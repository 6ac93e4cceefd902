#include "cli/program/tokens.hpp"

#include <array>
#include <utility>

namespace fastgpu::cli {
namespace {

/// A flag that users know from other programs, and fastgpu's equivalent.
struct Familiar {
  std::string_view typed;
  std::string_view name;
  std::string_view value;  ///< The value of the flag; empty if the user types the value.
};

constexpr std::array kFamiliar = {
    Familiar{"--num-nodes", "--nodes", ""}, Familiar{"--num_nodes", "--nodes", ""},
    Familiar{"--use-spot", "--spot", ""},   Familiar{"--dryrun", "--dry-run", ""},
    Familiar{"--json", "--output", "json"}, Familiar{"--yaml", "--output", "yaml"},
};

class Splitter {
 public:
  Splitter(std::span<const std::string> words, const Arguments& arguments)
      : words_(words), arguments_(arguments) {}

  std::vector<Token> split() {
    for (at_ = 0; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      const bool may_be_flag = word.size() > 1 && word.front() == '-' && !flags_have_ended_;
      if (!may_be_flag)
        tokens_.push_back({.at = at_, .text = word});
      else if (word == "--")
        flags_have_ended_ = true;
      else
        take_flag(word);
    }
    return std::move(tokens_);
  }

 private:
  void take_flag(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::optional<std::string> attached;
    if (equals != std::string::npos) attached = word.substr(equals + 1);
    if (const Argument* const argument = arguments_.find(name))
      add_flag(name, *argument, std::move(attached));
    else if (!word.starts_with("--") && has_known_letters(word))
      take_letters(word);
    else if (!take_familiar(name, std::move(attached)))
      tokens_.push_back({.kind = Token::Kind::unknown_flag, .at = at_, .text = name});
  }

  bool take_familiar(const std::string& name, std::optional<std::string> attached) {
    for (const Familiar& familiar : kFamiliar) {
      const Argument* const argument = arguments_.find(familiar.name);
      if (familiar.typed != name || argument == nullptr) continue;
      const bool has_own_value = !familiar.value.empty();
      if (has_own_value && attached) return false;
      if (has_own_value) attached = familiar.value;
      add_flag(name, *argument, std::move(attached));
      return true;
    }
    return false;
  }

  const Argument* letter(char c) const { return arguments_.find(std::string{'-', c}); }

  /// Returns true if each letter of `word` is a bare flag, up to the first letter whose value is
  /// the rest of the word.
  bool has_known_letters(const std::string& word) const {
    for (std::size_t i = 1; i < word.size(); ++i) {
      const Argument* const argument = letter(word[i]);
      if (argument == nullptr) return i > 1 && word[i] == '=';
      if (!argument->bare()) return true;
    }
    return true;
  }

  void take_letters(const std::string& word) {
    for (std::size_t i = 1; i < word.size() && word[i] != '='; ++i) {
      const Argument& argument = *letter(word[i]);
      const std::string rest = word.substr(i + 1);
      std::optional<std::string> attached;
      if (rest.starts_with('='))
        attached = rest.substr(1);
      else if (!argument.bare() && !rest.empty())
        attached = rest;
      add_flag({'-', word[i]}, argument, std::move(attached));
      if (!argument.bare()) return;
    }
  }

  void add_flag(const std::string& spelling, const Argument& argument,
                std::optional<std::string> attached) {
    Token token{.kind = Token::Kind::flag, .at = at_, .text = spelling, .argument = &argument};
    token.value = std::move(attached);
    if (!argument.bare() && !token.value) take_next_word(token);
    tokens_.push_back(std::move(token));
  }

  void take_next_word(Token& token) {
    if (at_ + 1 >= words_.size() || words_[at_ + 1] == "--") return;
    const std::string& word = words_[at_ + 1];
    if (is_known_flag(word)) {
      token.next = word;
      return;
    }
    token.value = word;
    ++at_;
  }

  bool is_known_flag(const std::string& word) const {
    if (word.size() < 2 || word.front() != '-') return false;
    return arguments_.find(word.substr(0, word.find('='))) != nullptr;
  }

  std::span<const std::string> words_;
  const Arguments& arguments_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  bool flags_have_ended_ = false;
};

}  // namespace

std::vector<Token> tokens_of(std::span<const std::string> words, const Arguments& arguments) {
  return Splitter(words, arguments).split();
}

}  // namespace fastgpu::cli
