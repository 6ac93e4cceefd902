#include "cli/parser.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {
namespace {

class Parser {
 public:
  Parser(const std::string& command, const Arguments& arguments)
      : command_(command), arguments_(arguments) {}

  void read(std::span<const std::string> words);
  void read_environment(const Environment& environment);
  void check_complete() const;

 private:
  /// Takes the flag at words[at], with its value; returns how many words that were.
  std::size_t read_flag(std::span<const std::string> words, std::size_t at);
  void read_positional(const std::string& word);
  void give(const Argument& argument, const std::string& value);
  [[noreturn]] void refuse(const std::string& why) const;
  [[noreturn]] void refuse_flag(const std::string& spelling) const;

  const std::string& command_;
  const Arguments& arguments_;
  std::map<const Argument*, int> given_;
  bool program_given_ = false;
};

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

void Parser::give(const Argument& argument, const std::string& value) {
  if (given_[&argument]++ > 0 && !argument.repeated && !argument.bare())
    refuse(argument.name + " is given twice");
  argument.take(value);
}

std::size_t Parser::read_flag(std::span<const std::string> words, std::size_t at) {
  const std::string& word = words[at];
  const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
  const std::string spelling = word.substr(0, equals);
  const Argument* argument = arguments_.find(spelling);
  if (argument == nullptr && !word.starts_with("--") && word.size() > 2) {
    argument = arguments_.find(word.substr(0, 2));  // "-ojson"
    if (argument == nullptr || argument->bare()) refuse_flag(spelling);
    give(*argument, word.substr(2));
    return 1;
  }
  if (argument == nullptr) refuse_flag(spelling);
  if (argument->bare()) {
    if (equals != std::string::npos) refuse(spelling + " takes no value");
    give(*argument, "");
    return 1;
  }
  if (equals != std::string::npos) {
    give(*argument, word.substr(equals + 1));
    return 1;
  }
  if (at + 1 >= words.size() || words[at + 1] == "--")
    refuse(spelling + " needs a value (" + argument->value + ")");
  give(*argument, words[at + 1]);
  return 2;
}

void Parser::read_positional(const std::string& word) {
  for (const Argument& argument : arguments_.all()) {
    if (!argument.positional()) continue;
    if (argument.repeated || !given_.contains(&argument)) return give(argument, word);
  }
  if (arguments_.program())
    refuse("unexpected '" + printable(word) + "': the program to start goes after --");
  refuse("unexpected '" + printable(word) + "'");
}

void Parser::read(std::span<const std::string> words) {
  for (std::size_t at = 0; at < words.size();) {
    const std::string& word = words[at];
    if (word == "--" && arguments_.program()) {
      arguments_.program()->words->assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                          words.end());
      program_given_ = at + 1 < words.size();
      return;
    }
    if (word == "--") {
      for (++at; at < words.size(); ++at)
        read_positional(words[at]);
    } else if (word.size() > 1 && word.front() == '-') {
      at += read_flag(words, at);
    } else {
      read_positional(words[at++]);
    }
  }
}

void Parser::read_environment(const Environment& environment) {
  for (const Argument& argument : arguments_.all()) {
    if (argument.positional() || given_.contains(&argument)) continue;
    const std::string name = argument.environment_name();
    const std::string text = environment(name.c_str()).value_or("");
    if (text.empty()) continue;
    if (argument.bare() && (text == "0" || text == "false" || text == "no")) continue;
    try {
      argument.take(text);
    } catch (const Error& e) {
      throw Error(e.kind(), std::string(e.what()) + " (from " + name + ")");
    }
  }
}

void Parser::check_complete() const {
  for (const Argument& argument : arguments_.all())
    if (argument.required && !given_.contains(&argument)) refuse(argument.name + " is missing");
  if (arguments_.program() && arguments_.program()->required && !program_given_)
    refuse("the program to start is missing: put it after --");
}

}  // namespace

void parse_words(const std::string& command, std::span<const std::string> words,
                 const Arguments& arguments, const Environment& environment) {
  Parser parser(command, arguments);
  parser.read(words);
  parser.read_environment(environment);
  parser.check_complete();
}

}  // namespace fastgpu::cli
