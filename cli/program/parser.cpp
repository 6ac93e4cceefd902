#include "cli/program/parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"
#include "cli/program/tokens.hpp"

namespace fastgpu::cli {
namespace {

/// An argument of the command and CLI11's option for it.
struct Bound {
  const Argument* argument;
  std::string option_name;
  CLI::Option* option;
};

/// A wrapper of CLI11, which gets one pair of a name and a value for each flag and each word. The
/// words have been classified before, so that CLI11 cannot take one for something else.
class Parser {
 public:
  Parser(const std::string& command, const Arguments& arguments);

  void read(std::span<const std::string> words);
  void hand_over(const Environment& environment, const HearFault& hear) const;

 private:
  void bind(const Argument& argument);
  std::span<const std::string> take_program(std::span<const std::string> words);
  void add(const Token& token);
  void add_word(const std::string& word);
  const Bound& bound(const Argument& argument) const;
  void hand_over(const Bound& bound, const Environment& environment, const HearFault& hear) const;
  /// Hands over the value of the argument's environment variable. Returns false if the variable is
  /// not set.
  bool take_environment(const Argument& argument, const Environment& environment) const;
  bool take_environment(const Argument& argument, const Environment& environment,
                        const HearFault& hear) const;
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_flag(const std::string& spelling) const;
  [[noreturn]] void refuse_no_value(const Token& token) const;

  const std::string& command_;
  const Arguments& arguments_;
  CLI::App app_;
  std::vector<Bound> bound_;
  std::vector<std::string> pairs_;
  std::size_t words_ = 0;  ///< The number of positional words so far.
  bool program_given_ = false;
};

Parser::Parser(const std::string& command, const Arguments& arguments)
    : command_(command), arguments_(arguments) {
  app_.set_help_flag();
  for (const Argument& argument : arguments.all())
    bind(argument);
}

void Parser::bind(const Argument& argument) {
  Bound made{.argument = &argument, .option_name = argument.name, .option = nullptr};
  if (argument.positional()) made.option_name = "--word-" + std::to_string(bound_.size());
  if (argument.bare()) {
    made.option = app_.add_flag(made.option_name)->disable_flag_override();
  } else {
    made.option = app_.add_option(made.option_name)
                      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                      ->allow_extra_args(false);
  }
  bound_.push_back(std::move(made));
}

const Bound& Parser::bound(const Argument& argument) const {
  return *std::ranges::find(bound_, &argument, &Bound::argument);
}

void Parser::refuse(const std::string& why) const {
  throw Error(ErrorKind::usage, command_ + ": " + why + " (see: fastgpu " + command_ + " --help)");
}

void Parser::refuse_flag(const std::string& spelling) const {
  std::vector<std::string> known;
  for (const Argument& argument : arguments_.all())
    if (!argument.positional()) known.push_back(argument.name);
  const std::string near = nearest_name(spelling, known);
  refuse("unknown flag " + printable(spelling) +
         (near.empty() ? "" : ", did you mean " + near + "?"));
}

void Parser::refuse_no_value(const Token& token) const {
  const std::string what = token.text + " needs a value (" + token.argument->value + ")";
  if (token.next.empty()) refuse(what);
  refuse(what + ", but the next word is the flag " + printable(token.next) + "; if that is the " +
         "value, write " + token.argument->name + "=" + printable(token.next));
}

void Parser::add_word(const std::string& word) {
  std::size_t number = words_++;
  for (const Bound& bound : bound_) {
    if (!bound.argument->positional()) continue;
    if (number > 0 && !bound.argument->repeated) {
      --number;
      continue;
    }
    if (word.empty()) refuse(bound.argument->name + " is empty");
    pairs_.insert(pairs_.end(), {bound.option_name, word});
    return;
  }
  refuse("unexpected '" + printable(word) + "'" +
         (arguments_.program() ? ": the program to start goes after --" : ""));
}

void Parser::add(const Token& token) {
  if (token.kind == Token::Kind::word) return add_word(token.text);
  if (token.kind == Token::Kind::unknown_flag) refuse_flag(token.text);
  const Argument& argument = *token.argument;
  pairs_.push_back(bound(argument).option_name);
  if (argument.bare()) {
    if (token.value) refuse(token.text + " takes no value");
    return;
  }
  if (!token.value) refuse_no_value(token);
  if (token.value->empty())
    refuse("the value of " + token.text + " is empty: set it to " + argument.value +
           ", or leave the flag out");
  pairs_.push_back(*token.value);
}

/// Stores the program's words, which come after "--". Returns the words before it.
std::span<const std::string> Parser::take_program(std::span<const std::string> words) {
  if (!arguments_.program()) return words;
  const auto split = std::ranges::find(words, "--");
  if (split == words.end()) return words;
  arguments_.program()->words->assign(split + 1, words.end());
  program_given_ = split + 1 != words.end();
  return {words.begin(), split};
}

void Parser::read(std::span<const std::string> words) {
  for (const Token& token : tokens_of(take_program(words), arguments_))
    add(token);
  std::ranges::reverse(pairs_);  // CLI11 takes them in reverse order.
  try {
    app_.parse(std::move(pairs_));
  } catch (const CLI::ParseError& e) {
    refuse(e.what());
  }
}

bool Parser::take_environment(const Argument& argument, const Environment& environment) const {
  if (argument.positional()) return false;
  const std::string name = argument.variable(command_);
  const std::string text = environment(name.c_str()).value_or("");
  if (text.empty()) return false;
  try {
    if (!argument.bare())
      argument.take(text);
    else if (parse_boolean(text))
      argument.take("");
  } catch (const Error& e) {
    throw e.during("the environment variable " + name);
  }
  return true;
}

bool Parser::take_environment(const Argument& argument, const Environment& environment,
                              const HearFault& hear) const {
  try {
    return take_environment(argument, environment);
  } catch (const Error& e) {
    if (!hear) throw;
    hear(e);
    return false;
  }
}

void Parser::hand_over(const Bound& bound, const Environment& environment,
                       const HearFault& hear) const {
  const auto& [argument, name, option] = bound;
  if (option->count() == 0) {
    const bool is_there = take_environment(*argument, environment, hear);
    if (!is_there && argument->required) refuse(argument->name + " is missing");
    return;
  }
  if (argument->bare()) return argument->take("");
  if (option->count() > 1 && !argument->repeated) refuse(argument->name + " is given twice");
  for (const std::string& value : option->results())
    argument->take(value);
}

void Parser::hand_over(const Environment& environment, const HearFault& hear) const {
  for (const Bound& bound : bound_)
    hand_over(bound, environment, hear);
  if (arguments_.program() && arguments_.program()->required && !program_given_)
    refuse("the program to start is missing: put it after --");
}

}  // namespace

void parse_words(const std::string& command, std::span<const std::string> words,
                 const Arguments& arguments, const Environment& environment,
                 const HearFault& hear) {
  Parser parser(command, arguments);
  parser.read(words);
  parser.hand_over(environment, hear);
}

}  // namespace fastgpu::cli
