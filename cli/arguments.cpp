#include "cli/arguments.hpp"

#include <charconv>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {
namespace {

void check_choice(const Argument& argument, const std::string& value) {
  if (argument.choices.empty()) return;
  std::string all;
  for (const std::string& choice : argument.choices) {
    if (choice == value) return;
    all += (all.empty() ? "" : ", ") + choice;
  }
  const std::string near = nearest_name(value, argument.choices);
  throw Error(ErrorKind::usage, argument.name + " '" + printable(value) + "' is none of " + all +
                                    (near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace

std::string Argument::environment_name() const {
  std::string out = "FASTGPU_";
  for (const char c : std::string_view(name).substr(2)) {
    const bool lower = c >= 'a' && c <= 'z';
    out += c == '-' ? '_' : lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

Argument& Arguments::add(Argument argument) {
  return all_.emplace_back(std::move(argument));
}

Argument& Arguments::text(std::string_view name, std::string_view value, std::string_view help,
                          std::string& target) {
  Argument& made = add({.name = std::string(name), .value = std::string(value)});
  made.help = help;
  made.take = [&target, &made](const std::string& text) {
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
  made.take = [&target](const std::string& text) { target.push_back(text); };
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
    target = parse_count(made.name, text, least, most);
  };
  return made;
}

Argument& Arguments::duration(std::string_view name, std::string_view help,
                              std::optional<std::chrono::milliseconds>& target) {
  Argument& made = add({.name = std::string(name), .value = "TIME"});
  made.help = help;
  made.take = [&target, &made](const std::string& text) {
    try {
      target = parse_duration(text);
    } catch (const Error& e) {
      throw Error(e.kind(), made.name + ": " + e.what());
    }
  };
  return made;
}

const Argument* Arguments::find(std::string_view word) const noexcept {
  for (const Argument& argument : all_)
    if (!argument.positional() && (argument.name == word || argument.letter == word))
      return &argument;
  return nullptr;
}

int parse_count(std::string_view what, std::string_view text, int least, int most) {
  long long number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  const bool whole = end == last && !text.empty();
  if (whole && error == std::errc{} && number >= least && number <= most)
    return static_cast<int>(number);
  throw Error(ErrorKind::usage, std::string(what) + " '" + printable(text) +
                                    "' is not usable: give a whole number from " +
                                    std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace fastgpu::cli
