#include "cli/program/completion.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "cli/program/command_search.hpp"
#include "cli/program/common_flags.hpp"
#include "cli/program/tokens.hpp"

namespace fastgpu::cli {
namespace {

/// Returns true if the last word is a flag whose value is still missing.
bool lacks_value(const std::vector<Token>& tokens) {
  if (tokens.empty() || tokens.back().argument == nullptr) return false;
  return !tokens.back().argument->bare() && !tokens.back().value;
}

class Completer {
 public:
  Completer(std::span<const CliCommand> table, const KnownNames& known, const std::string& typed)
      : table_(table), known_(known), typed_(typed) {}

  Completion of(std::span<const std::string> before);

 private:
  void offer(std::string word, std::string_view help = "");
  void offer_all(const std::vector<std::string>& words, const std::string& prefix = "");
  bool offer_first(std::span<const std::string> before);
  void offer_verbs();
  void offer_nouns(std::string_view verb);
  void offer_flags(const Arguments& arguments);
  void offer_values(const Argument& argument);
  void offer_targets(bool with_paths);
  void offer_nodes();
  void note_clouds(const std::vector<Token>& tokens);
  void offer_argument(const Arguments& arguments, std::span<const std::string> words);

  std::span<const CliCommand> table_;
  const KnownNames& known_;
  std::string typed_;
  std::vector<std::string> clouds_;  ///< The clouds that the line names.
  Completion out_;
};

void Completer::offer(std::string word, std::string_view help) {
  if (!word.starts_with(typed_)) return;
  const bool there = std::ranges::any_of(
      out_.candidates,
      [&](const CompletionCandidate& candidate) { return candidate.word == word; });
  if (!there) out_.candidates.push_back({std::move(word), std::string(help)});
}

void Completer::offer_all(const std::vector<std::string>& words, const std::string& prefix) {
  for (const std::string& word : words)
    offer(prefix + word);
}

void Completer::offer_verbs() {
  for (const CliCommand& command : table_)
    if (!command.summary.empty())
      offer(std::string(command.verb), command.noun.empty() ? command.summary : "");
}

void Completer::offer_nouns(std::string_view verb) {
  for (const CliCommand& command : table_)
    if (command.verb == verb)
      offer(std::string(command.noun) + (verb == "get" ? "s" : ""), command.summary);
}

void Completer::offer_flags(const Arguments& arguments) {
  for (const Argument& argument : arguments.all())
    if (!argument.positional()) offer(argument.name, argument.help);
  offer("--help", "Show help for this command");
}

void Completer::offer_targets(bool with_paths) {
  const std::size_t cut = typed_.find_first_of("/:");
  const std::vector<std::string> clusters = known_.clusters();
  const std::string end = with_paths ? ":" : "";
  out_.files = out_.keep_open = with_paths;
  if (cut == std::string::npos) {
    for (const std::string& name : clusters)
      offer(name + end);
    return;
  }
  const std::string cluster = typed_.substr(0, cut);
  if (!contains(clusters, cluster)) return;
  out_.files = false;  // A path on a node cannot be completed.
  const std::size_t word = typed_.find_last_of("/,!:") + 1;  // The word that is being typed.
  if (typed_[word - 1] == ':') return;
  const std::string before = typed_.substr(0, word);
  for (const std::string& node : known_.nodes(cluster))
    offer(before + node + end);
  if (typed_.find('@', word) != word) return;
  for (const std::string_view group : {"@head", "@workers", "@running", "@stopped", "@lost"})
    offer(before + std::string(group) + end);
  for (const std::string& group : known_.groups())
    offer(before + "@" + group + end);
}

/// Offers a node by its name or as CLUSTER/NODE; after a comma, another one.
void Completer::offer_nodes() {
  if (typed_.find('/') != std::string::npos) return offer_targets(false);
  const std::string before = typed_.substr(0, typed_.rfind(',') + 1);
  for (const std::string& node : known_.nodes(""))
    offer(before + node);
}

void Completer::offer_values(const Argument& argument) {
  switch (argument.values) {
    case Values::none:
      return;
    case Values::cluster:
      return offer_all(known_.clusters());
    case Values::target:
      return offer_targets(false);
    case Values::remote_path:
      return offer_targets(true);
    case Values::job:
      return offer_all(known_.jobs());
    case Values::node:
      return offer_nodes();
    case Values::environment:
      return offer_all(known_.environments());
    case Values::matrix_name:
      return offer_all(known_.matrix_names());
    case Values::region:
      offer("all");
      return offer_all(known_.regions(clouds_));
    case Values::gpus:
      return offer_all(known_.gpus());
    case Values::schema:
      return offer_all(known_.schemas());
    case Values::provider:
      return offer_all(known_.providers());
    case Values::choice:
      return offer_all(argument.choices);
    case Values::path:
      out_.files = true;
      return offer_all(argument.choices);
  }
}

void Completer::note_clouds(const std::vector<Token>& tokens) {
  for (const Token& token : tokens)
    if (token.argument != nullptr && token.argument->name == "--cloud" && token.value &&
        *token.value != "any")
      clouds_.push_back(*token.value);
}

/// Offers the arguments that may follow `words`, all before the one being typed.
void Completer::offer_argument(const Arguments& arguments, std::span<const std::string> words) {
  if (arguments.program() && contains(words, "--")) {
    out_.files = true;  // The program's own arguments.
    return;
  }
  const auto tokens = tokens_of(words, arguments);
  note_clouds(tokens);
  if (lacks_value(tokens)) return offer_values(*tokens.back().argument);
  auto positionals = std::ranges::count(tokens, Token::Kind::word, &Token::kind);
  if (typed_.starts_with('-')) return offer_flags(arguments);
  for (const Argument& argument : arguments.all()) {
    if (!argument.positional()) continue;
    if (positionals == 0 || argument.repeated) return offer_values(argument);
    --positionals;
  }
}

/// Offers the flags that may be typed before a verb, or the verbs. Returns false if the line has a
/// verb already.
bool Completer::offer_first(std::span<const std::string> before) {
  const Arguments flags = leading_flags(table_);
  const auto tokens = tokens_of(before, flags);
  if (contains(tokens, Token::Kind::word, &Token::kind)) return false;
  CommonFlags common;
  Arguments arguments;
  describe_common(arguments, common);
  const Argument* const flag = before.empty() ? nullptr : arguments.find(before.back());
  if (lacks_value(tokens)) {
    if (flag != nullptr) offer_values(*flag);
    return true;
  }
  offer_verbs();
  if (typed_.starts_with('-')) offer_flags(arguments);
  return true;
}

Completion Completer::of(std::span<const std::string> before) {
  if (!before.empty() && before.front() == "help") before = before.subspan(1);
  if (offer_first(before)) return out_;
  std::optional<Resolved> resolved;
  try {
    resolved = resolve(table_, {before.begin(), before.end()});
  } catch (const Error&) {  // The words are unknown, or a verb still lacks its noun.
  }
  if (!resolved || resolved->command == nullptr) {
    if (!before.back().starts_with('-')) offer_nouns(before.back());
    return out_;
  }
  const Arguments arguments = arguments_of(*resolved->command);
  const std::size_t equals = typed_.starts_with("--") ? typed_.find('=') : std::string::npos;
  if (equals == std::string::npos) {
    offer_argument(arguments, resolved->rest);
    return out_;
  }
  note_clouds(tokens_of(resolved->rest, arguments));
  const Argument* const flag = arguments.find(typed_.substr(0, equals));
  const std::string head = typed_.substr(0, equals + 1);
  typed_ = typed_.substr(equals + 1);
  if (flag != nullptr) offer_values(*flag);
  for (CompletionCandidate& candidate : out_.candidates)
    candidate.word = head + candidate.word;
  return out_;
}

}  // namespace

Completion complete(std::span<const CliCommand> table, std::span<const std::string> words,
                    const KnownNames& known) {
  if (words.empty()) return Completer(table, known, "").of({});
  return Completer(table, known, words.back()).of(words.first(words.size() - 1));
}

}  // namespace fastgpu::cli
