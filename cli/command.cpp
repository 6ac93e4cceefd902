#include "cli/command.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {
namespace {

struct Alias {
  std::string_view typed;
  std::string_view verb;
  std::string_view noun;  ///< Put after the verb where the user named none.
};

constexpr std::array kAliases = {
    Alias{"ls", "get", "cluster"},
    Alias{"list", "get", ""},
    Alias{"show", "describe", ""},
    Alias{"kill", "delete", "cluster"},
    Alias{"rm", "delete", ""},
    Alias{"destroy", "delete", ""},
    Alias{"copy", "cp", ""},
    Alias{"log", "logs", ""},
    Alias{"querygpu", "get", "instance-type"},
    Alias{"queryimage", "get", "image"},
};

std::string singular(const std::string& noun) {
  return noun.size() > 1 && noun.back() == 's' ? noun.substr(0, noun.size() - 1) : noun;
}

std::vector<std::string> nouns_of(std::span<const Command> table, std::string_view verb) {
  std::vector<std::string> nouns;
  for (const Command& command : table)
    if (command.verb == verb)
      nouns.push_back(command.noun.empty() ? "" : command.words().substr(verb.size() + 1));
  return nouns;
}

[[noreturn]] void refuse_verb(std::span<const Command> table, const std::string& verb) {
  std::vector<std::string> known;
  for (const Command& command : table)
    known.emplace_back(command.verb);
  const std::string near = nearest_name(verb, known);
  throw Error(ErrorKind::usage,
              "unknown command '" + printable(verb) + "'" +
                  (near.empty() ? "; fastgpu --help lists them" : ", did you mean " + near + "?"));
}

[[noreturn]] void refuse_noun(const std::string& verb, const std::string& noun,
                              const std::vector<std::string>& nouns) {
  const std::string head = verb + " what? It takes " + joined(nouns);
  if (noun.empty())
    throw Error(ErrorKind::usage, head + ", as in: fastgpu " + verb + " " + nouns[0]);
  std::string near = nearest_name(noun, nouns);
  std::string meant = "fastgpu " + verb + " " + (near.empty() ? nouns[0] : near);
  if (near.empty()) meant += " " + printable(noun);
  throw Error(ErrorKind::usage, verb + " knows no '" + printable(noun) + "', it takes " +
                                    joined(nouns) + "; did you mean: " + meant + "?");
}

/// Moves the flags in front of the verb behind it: "-o json get nodes" is "get nodes -o json".
void verb_first(std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at].front() == '-' &&
         words[at] != "--") {
    const std::string& word = words[at];
    const bool has_value =
        word == "-o" || word == "--output" || word == "--state-dir" || word == "--color";
    at += has_value ? 2 : 1;
  }
  if (at >= words.size() || words[at] == "--") return;
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(at);
  const auto program = std::find(first, words.end(), "--");
  std::rotate(words.begin(), first, program);
}

/// Whether help is asked for; the words that ask are taken out.
bool take_help(std::vector<std::string>& words) {
  bool help = false;
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    help = true;
  }
  const auto program = std::find(words.begin(), words.end(), "--");
  const auto kept = std::remove_if(words.begin(), program, [](const std::string& word) {
    return word == "-h" || word == "--help";
  });
  help = help || kept != program;
  words.erase(kept, program);
  return help;
}

void expand_alias(std::vector<std::string>& words) {
  for (const Alias& alias : kAliases) {
    if (words.front() != alias.typed) continue;
    words.front() = alias.verb;
    const bool named = words.size() > 1 && singular(words[1]) == alias.noun;
    if (!alias.noun.empty() && !named) words.insert(words.begin() + 1, std::string(alias.noun));
    return;
  }
}

const Command* find(std::span<const Command> table, std::string_view verb, std::string_view noun) {
  for (const Command& command : table)
    if (command.verb == verb && command.noun == noun) return &command;
  return nullptr;
}

}  // namespace

std::string Command::words() const {
  const std::string_view plural = verb == "get" ? "s" : "";
  return std::string(verb) + (noun.empty() ? "" : " " + std::string(noun) + std::string(plural));
}

Resolved resolve(std::span<const Command> table, std::vector<std::string> words) {
  Resolved out;
  out.help = take_help(words);
  verb_first(words);
  if (words.empty() || words.front().starts_with('-')) {
    out.rest = std::move(words);
    return out;
  }
  expand_alias(words);
  out.verb = words.front();
  const std::vector<std::string> nouns = nouns_of(table, out.verb);
  if (nouns.empty()) refuse_verb(table, out.verb);
  std::size_t used = 1;
  out.command = find(table, out.verb, "");
  if (out.command == nullptr) {
    const std::string noun = words.size() > 1 && words[1] != "--" ? words[1] : "";
    out.command = find(table, out.verb, noun);
    if (out.command == nullptr) out.command = find(table, out.verb, singular(noun));
    if (out.command == nullptr && !(out.help && noun.empty())) refuse_noun(out.verb, noun, nouns);
    used = std::min<std::size_t>(2, words.size());
  }
  out.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(used), words.end());
  return out;
}

}  // namespace fastgpu::cli
