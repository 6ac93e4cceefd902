#include "process/interpreter.hpp"

#include <fstream>
#include <ios>

#include "base/error.hpp"
#include "base/file_status.hpp"
#include "base/names.hpp"
#include "base/split.hpp"
#include "process/command.hpp"

namespace fastgpu::process {
namespace {

constexpr const char* kBlanks = " \t";

/// Returns the remedy for a line that ends as those of Windows do; "" for any other.
std::string remark_on_line_end(std::string_view line) {
  if (!line.ends_with('\r')) return "";
  return ": the line ends with a carriage return, as in files of Windows: remove those of the file "
         "(sed -i 's/\\r$//')";
}

/// Returns the name that env looks for, which is given the rest of the line as one word, or as
/// several after -S; "" if another option or a variable comes first.
std::string name_for_env(std::string_view rest) {
  const auto words = split_words(rest, kBlanks);
  if (words.empty()) return "";
  if (words.front() == "-S" && words.size() > 1) rest = words[1];
  if (rest.starts_with('-') || rest.find('=') != rest.npos) return "";
  return std::string(rest);
}

/// Returns false for a path that does not exist, true for one that may not be looked at.
bool may_exist(const std::filesystem::path& path) {
  try {
    return path_exists(path);
  } catch (const Error&) {
    return true;
  }
}

/// Returns false if `path` has no program of this name. Assumes one in a relative directory, where
/// find_program() does not look.
bool may_be_in(const std::string& name, std::string_view path) {
  for (const std::string_view directory : split(path, ':'))
    if (!directory.starts_with('/')) return true;
  try {
    return may_exist(find_program(name, path));
  } catch (const Error& e) {
    return e.kind() != ErrorKind::not_found;
  }
}

/// Returns why the program `env` finds no interpreter; "" if it finds one, or that is unknown.
std::string absent_for_env(const std::string& env, const std::string& line, std::string_view path) {
  const std::string name = name_for_env(trimmed(line.substr(line.find(env) + env.size()), kBlanks));
  if (name.empty() || may_be_in(name, path)) return "";
  std::string why = std::string(kItsInterpreter) + "'" + printable(name) + "', which " +
                    printable(env) + " looks for (in its first line), is not in PATH";
  if (name.find_first_of(kBlanks) != name.npos) why += ": several words need " + env + " -S";
  return why + remark_on_line_end(line);
}

}  // namespace

std::optional<std::string> interpreter_line(const std::filesystem::path& file) {
  constexpr std::size_t kLongest = 256;  // The kernel reads as much of the first line.
  std::ifstream in(file, std::ios::binary);
  std::string line(kLongest, '\0');
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(in.gcount()));
  if (!line.starts_with("#!")) return std::nullopt;
  return line.substr(2, line.find('\n') - 2);
}

std::string absent_interpreter(const std::string& line) {
  const auto words = split_words(line, kBlanks);
  if (words.empty()) return "";
  return std::string(kItsInterpreter) + printable(words.front()) +
         " (in its first line) does not exist" + remark_on_line_end(line);
}

std::string missing_interpreter(const std::filesystem::path& file, std::string_view path) {
  const std::string line = interpreter_line(file).value_or("");
  const auto words = split_words(line, kBlanks);
  if (words.empty()) return "";
  const std::string program(words.front());
  if (program.starts_with('/') && !may_exist(program)) return absent_interpreter(line);
  if (!program.ends_with("/env")) return "";
  return absent_for_env(program, line, path);
}

}  // namespace fastgpu::process
