#include "cli/parser.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {
namespace {

/// One argument of ours and CLI11's option for it.
struct Bound {
  const Argument* argument;
  CLI::Option* option;
};

class Parser {
 public:
  Parser(const std::string& command, const Arguments& arguments);

  void read(std::span<const std::string> words);
  void hand_over(const Environment& environment) const;

 private:
  void bind(const Argument& argument);
  std::vector<std::string> take_program(std::span<const std::string> words);
  void hand_over(const Bound& bound, const Environment& environment) const;
  void take_environment(const Argument& argument, const Environment& environment) const;
  void check_values(std::span<const std::string> words) const;
  void take_extras();
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_flag(const std::string& spelling) const;

  const std::string& command_;
  const Arguments& arguments_;
  CLI::App app_;
  std::vector<Bound> bound_;
  const Argument* rest_ = nullptr;  ///< Takes all words that stand alone; CLI11 splits "[a,b]".
  bool program_given_ = false;
};

Parser::Parser(const std::string& command, const Arguments& arguments)
    : command_(command), arguments_(arguments) {
  app_.set_help_flag();
  app_.allow_extras();  // So that we can name the nearest right spelling.
  for (const Argument& argument : arguments.all())
    bind(argument);
}

void Parser::bind(const Argument& argument) {
  if (argument.positional() && argument.repeated) {
    rest_ = &argument;
    return;
  }
  // CLI11 takes names of one letter and of several; "-np" is neither, and is translated in read().
  std::string names =
      argument.positional() ? "positional" + std::to_string(bound_.size()) : argument.name;
  if (argument.letter.size() == 2) names += "," + argument.letter;
  CLI::Option* option = nullptr;
  if (argument.bare()) {
    option = app_.add_flag(names)->disable_flag_override();
  } else {
    option = app_.add_option(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    option->allow_extra_args(false);
  }
  bound_.push_back({&argument, option});
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

/// CLI11 says this less clearly.
void Parser::check_values(std::span<const std::string> words) const {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string spelling = words[i].substr(0, equals);
    const Argument* const argument = arguments_.find(spelling);
    if (argument == nullptr) continue;
    if (argument->bare() && equals != std::string::npos) refuse(spelling + " takes no value");
    if (argument->bare() || equals != std::string::npos) continue;
    ++i;
    if (i >= words.size() || words[i] == "--")
      refuse(spelling + " needs a value (" + argument->value + ")");
  }
}

void Parser::take_extras() {
  bool taken = false;
  for (const std::string& word : app_.remaining()) {
    if (word.size() > 1 && word.front() == '-') refuse_flag(word.substr(0, word.find('=')));
    if (rest_ == nullptr)
      refuse("unexpected '" + printable(word) + "'" +
             (arguments_.program() ? ": the program to start goes after --" : ""));
    rest_->take(word);
    taken = true;
  }
  if (rest_ != nullptr && rest_->required && !taken) refuse(rest_->name + " is missing");
}

/// The words in front of "--"; those behind it are the program's.
std::vector<std::string> Parser::take_program(std::span<const std::string> words) {
  const auto split =
      arguments_.program() ? std::find(words.begin(), words.end(), "--") : words.end();
  if (split != words.end()) {
    arguments_.program()->words->assign(split + 1, words.end());
    program_given_ = split + 1 != words.end();
  }
  return {words.begin(), split};
}

void Parser::read(std::span<const std::string> words) {
  std::vector<std::string> ours = take_program(words);
  for (std::string& word : ours)
    for (const Argument& argument : arguments_.all())
      if (argument.letter.size() > 2 && word == argument.letter) word = argument.name;
  check_values(ours);
  std::ranges::reverse(ours);  // As CLI11 wants them.
  try {
    app_.parse(std::move(ours));
  } catch (const CLI::ParseError& e) {
    refuse(e.what());
  }
  take_extras();
}

void Parser::take_environment(const Argument& argument, const Environment& environment) const {
  const std::string name = argument.environment_name();
  const std::string text = environment(name.c_str()).value_or("");
  if (text.empty()) return;
  if (argument.bare() && (text == "0" || text == "false" || text == "no")) return;
  try {
    argument.take(text);
  } catch (const Error& e) {
    throw Error(e.kind(), std::string(e.what()) + " (from " + name + ")");
  }
}

void Parser::hand_over(const Bound& bound, const Environment& environment) const {
  const auto& [argument, option] = bound;
  if (option->count() == 0 && argument->required) refuse(argument->name + " is missing");
  if (option->count() == 0 && !argument->positional()) take_environment(*argument, environment);
  if (option->count() == 0) return;
  if (argument->bare()) return argument->take("");
  if (option->count() > 1 && !argument->repeated) refuse(argument->name + " is given twice");
  for (const std::string& value : option->results())
    argument->take(value);
}

void Parser::hand_over(const Environment& environment) const {
  for (const Bound& bound : bound_)
    hand_over(bound, environment);
  if (arguments_.program() && arguments_.program()->required && !program_given_)
    refuse("the program to start is missing: put it after --");
}

}  // namespace

void parse_words(const std::string& command, std::span<const std::string> words,
                 const Arguments& arguments, const Environment& environment) {
  Parser parser(command, arguments);
  parser.read(words);
  parser.hand_over(environment);
}

}  // namespace fastgpu::cli
