#include "cli/program/command_search.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "cli/program/common_flags.hpp"
#include "cli/program/tokens.hpp"

namespace fastgpu::cli {
namespace {

struct Alias {
  std::string_view typed;
  std::string_view verb;
  std::string_view noun;  ///< The noun that is added if the user typed none.
};

constexpr std::array kAliases = {
    Alias{"ls", "get", "cluster"},
    Alias{"list", "get", ""},
    Alias{"show", "describe", ""},
    Alias{"kill", "delete", "cluster"},
    Alias{"rm", "delete", ""},
    Alias{"destroy", "delete", ""},
    Alias{"copy", "cp", ""},
    Alias{"scp", "cp", ""},
    Alias{"log", "logs", ""},
    Alias{"mpirun", "run", "job"},
    Alias{"horovodrun", "run", "job"},
    Alias{"perseusrun", "run", "job"},
    Alias{"querygpu", "get", "instance-type"},
    Alias{"queryimage", "get", "image"},
};

std::string singular(const std::string& noun) {
  return noun.size() > 1 && noun.back() == 's' ? noun.substr(0, noun.size() - 1) : noun;
}

std::vector<std::string> nouns_of(std::span<const CliCommand> table, std::string_view verb) {
  std::vector<std::string> nouns;
  for (const CliCommand& command : table)
    if (command.verb == verb)
      nouns.push_back(command.noun.empty() ? "" : command.words().substr(verb.size() + 1));
  return nouns;
}

const CliCommand* find(std::span<const CliCommand> table, std::string_view verb,
                       std::string_view noun) {
  for (const CliCommand& command : table)
    if (command.verb == verb && command.noun == noun) return &command;
  return nullptr;
}

/// A command of another system, and ours that does the same.
struct Foreign {
  std::string_view typed;
  std::string_view ours;
};

constexpr std::array kForeign = {
    Foreign{"ps", "fastgpu get jobs"},
    Foreign{"squeue", "fastgpu get jobs"},
    Foreign{"sacct", "fastgpu get jobs"},
    Foreign{"sinfo", "fastgpu get nodes"},
    Foreign{"scancel", "fastgpu cancel job"},
    Foreign{"sbatch", "fastgpu run job --detach"},
    Foreign{"srun", "fastgpu run job"},
    Foreign{"torchrun", "fastgpu run job --launcher torchrun"},
    Foreign{"mpiexec", "fastgpu run job"},
};

std::string foreign_meaning(std::string_view typed) {
  const auto found = std::ranges::find(kForeign, typed, &Foreign::typed);
  return found == kForeign.end() ? "" : std::string(found->ours);
}

/// Refuses a word that is no verb. `next` is the word behind it: "job run" means "run job".
[[noreturn]] void refuse_verb(std::span<const CliCommand> table, const std::string& verb,
                              const std::string& next) {
  std::vector<std::string> known;
  for (const CliCommand& command : table)
    known.emplace_back(command.verb);
  const std::string near = nearest_name(verb, known);
  const bool is_noun = find(table, "get", verb) || find(table, "get", singular(verb));
  std::string meant = is_noun ? "fastgpu get " + singular(verb) + "s" : near;
  if (find(table, next, singular(verb)) != nullptr)
    meant = "fastgpu " + next + " " + singular(verb);
  if (const std::string ours = foreign_meaning(verb); !ours.empty()) meant = ours;
  throw Error(ErrorKind::usage, "unknown command '" + printable(verb) + "'" +
                                    (meant.empty() ? "; fastgpu --help lists the commands"
                                                   : ", did you mean " + meant + "?"));
}

[[noreturn]] void refuse_noun(const std::string& verb, const std::string& noun,
                              const std::vector<std::string>& nouns) {
  const std::string head = verb + " needs one of " + joined(nouns);
  if (noun.empty())
    throw Error(ErrorKind::usage, head + ", as in: fastgpu " + verb + " " + nouns[0]);
  std::string near = nearest_name(noun, nouns);
  std::string meant = "fastgpu " + verb + " " + (near.empty() ? nouns[0] : near);
  if (near.empty()) meant += " " + printable(noun);
  throw Error(ErrorKind::usage, verb + " does not accept '" + printable(noun) + "', only " +
                                    joined(nouns) + "; did you mean: " + meant + "?");
}

/// Removes the words that request help. Returns true if there were any.
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

}  // namespace

std::vector<std::string> verb_first(std::span<const CliCommand> table,
                                    std::vector<std::string> words) {
  if (words.empty() || !words.front().starts_with('-')) return words;
  const auto program = std::ranges::find(words, "--");
  const Arguments flags = leading_flags(table);
  const auto tokens = tokens_of({words.begin(), program}, flags);
  const auto verb = std::ranges::find(tokens, Token::Kind::word, &Token::kind);
  if (verb == tokens.end()) return words;
  std::rotate(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(verb->at), program);
  return words;
}

namespace {

/// Moves the flags between verb and noun behind the noun.
void noun_first(std::span<const CliCommand> table, std::vector<std::string>& words) {
  const auto rest = verb_first(table, {words.begin() + 1, words.end()});
  std::ranges::copy(rest, words.begin() + 1);
}

}  // namespace

Resolved resolve(std::span<const CliCommand> table, std::vector<std::string> words) {
  Resolved out;
  out.help = take_help(words);
  words = verb_first(table, std::move(words));
  if (words.empty() || words.front().starts_with('-')) {
    out.rest = std::move(words);
    return out;
  }
  expand_alias(words);
  out.verb = words.front();
  const std::vector<std::string> nouns = nouns_of(table, out.verb);
  if (nouns.empty()) refuse_verb(table, out.verb, words.size() > 1 ? words[1] : "");
  std::size_t used = 1;
  out.command = find(table, out.verb, "");
  if (out.command == nullptr) {
    noun_first(table, words);
    const std::string noun = words.size() > 1 && !words[1].starts_with('-') ? words[1] : "";
    out.command = find(table, out.verb, noun);
    if (out.command == nullptr) out.command = find(table, out.verb, singular(noun));
    if (out.command == nullptr && !(out.help && noun.empty())) refuse_noun(out.verb, noun, nouns);
    used = noun.empty() ? 1 : 2;
  }
  out.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(used), words.end());
  return out;
}

}  // namespace fastgpu::cli
