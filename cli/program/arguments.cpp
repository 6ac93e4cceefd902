#include "cli/program/arguments.hpp"

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {
namespace {

/// Returns `parse(text)`. Puts the argument's name in front of the message of an error.
template <class Parse>
auto named(const Argument& argument, const std::string& text, Parse parse) {
  try {
    return parse(text);
  } catch (const Error& e) {
    throw Error(e.kind(), argument.name + " " + e.what());
  }
}

void check_choice(const Argument& argument, const std::string& text) {
  if (argument.choices.empty()) return;
  const bool is_choice = contains(argument.choices, text);
  if (const auto advice = !is_choice && argument.advice ? argument.advice(text) : std::string();
      !advice.empty())
    throw Error(ErrorKind::usage, argument.name + " '" + printable(text) + "' is not one of " +
                                      joined(argument.choices) + ": use " + advice);
  named(argument, text, [&](const auto& word) { return parse_choice(word, argument.choices); });
}

}  // namespace

std::string Argument::variable(std::string_view command) const {
  std::string words = "FASTGPU_";
  if (!shared) words.append(command).append("_");
  words.append(name, name.find_first_not_of('-'));
  for (char& c : words)
    c = c == '-' || c == ' ' ? '_' : ascii_upper(c);
  return words;
}

Argument& Arguments::add(Argument argument) {
  Argument& added = all_.emplace_back(std::move(argument));
  if (added.group.empty()) added.group = group_;
  return added;
}

Argument& Arguments::text(std::string_view name, std::string_view value, std::string_view help,
                          std::string& target) {
  Argument& made = add({.name = std::string(name), .value = std::string(value)});
  made.help = help;
  made.take = [&target, &made](const std::string& text) {
    if (made.other && made.other(text)) return;
    check_choice(made, text);
    target = text;
  };
  return made;
}

Argument& Arguments::list(std::string_view name, std::string_view value, std::string_view help,
                          std::vector<std::string>& target) {
  Argument& made = add({.name = std::string(name), .value = std::string(value)});
  made.help = help;
  made.repeated = true;
  made.take = [&target, &made](const std::string& text) {
    check_choice(made, text);
    target.push_back(text);
  };
  return made;
}

Argument& Arguments::flag(std::string_view name, std::string_view help, bool& target) {
  Argument& made = add({.name = std::string(name)});
  made.help = help;
  made.take = [&target](const std::string&) { target = true; };
  return made;
}

Argument& Arguments::count(std::string_view name, std::string_view value, std::string_view help,
                           std::optional<int>& target, int least, int most) {
  Argument& made = add({.name = std::string(name), .value = std::string(value)});
  made.help = help;
  made.take = [&target, &made, least, most](const std::string& text) {
    target = named(made, text, [&](const auto& word) { return parse_integer(word, least, most); });
  };
  return made;
}

Argument& Arguments::disk(std::string_view name, std::string_view help, std::optional<int>& target,
                          int most) {
  Argument& made = add({.name = std::string(name), .value = "GIB"});
  made.help = help;
  made.take = [&target, &made, most](const std::string& text) {
    target = named(made, text, [&](const auto& word) { return parse_gib(word, 1, most); });
  };
  return made;
}

Argument& Arguments::duration(std::string_view name, std::string_view help,
                              std::optional<std::chrono::milliseconds>& target) {
  Argument& made = add({.name = std::string(name), .value = "TIME"});
  made.help = help;
  made.take = [&target, &made](const std::string& text) {
    target = named(made, text, [](const auto& word) { return parse_duration(word); });
  };
  return made;
}

const Argument* Arguments::find(std::string_view word) const noexcept {
  for (const Argument& argument : all_)
    if (!argument.positional() && (argument.name == word || argument.letter == word))
      return &argument;
  return nullptr;
}

}  // namespace fastgpu::cli
