#include "cli/commands/shared/program_variables.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"
#include "base/split.hpp"
#include "base/unique_fd.hpp"
#include "base/utf8.hpp"
#include "process/command.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kMostBytes = 256UL << 10U;

/// Returns "NAME=VALUE" for "NAME=VALUE" or "NAME", whose value is taken from `ours`. `where`
/// begins the error messages, and `source` is the form in which a value may be given.
std::string assignment_of(const std::string& text, const std::string& where,
                          const state::Environment& ours, const std::string& source = "VALUE") {
  const auto equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const bool is_bare = equals == std::string::npos;
  if (!is_variable_name(name))
    throw Error(ErrorKind::usage,
                where + ": '" + printable(name) +
                    "' is not a variable name: use letters, digits and '_', such as TOKEN=abc");
  if (text.find('\0') != std::string::npos)
    throw Error(ErrorKind::usage, where + ": the value of " + name + " has a NUL byte");
  if (!is_bare) return text;
  const auto value = ours(name.c_str());
  if (!value)
    throw Error(ErrorKind::usage, where + ": the variable " + name +
                                      " is not set on this machine; give it a value: " + name +
                                      "=" + source);
  return name + "=" + *value;
}

std::string read_regular(const std::string& path, const std::string& flag = "--env-file") {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer for ever.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const int error = errno;
  if (!file) {
    const Error e = system_error(flag + ": opening " + printable(path), error);
    throw error == ENOENT ? Error(ErrorKind::not_found, e.what()) : e;
  }
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    throw Error(ErrorKind::usage, flag + ": " + printable(path) + " is not a regular file");
  std::string text = read_to_end(file.get(), flag + ": reading " + printable(path), kMostBytes);
  if (text.size() > kMostBytes)
    throw Error(ErrorKind::usage, flag + ": " + printable(path) + " has more than " +
                                      std::to_string(kMostBytes) + " bytes");
  return text;
}

/// Throws usage for a line of a file without an assignment. The error has no part of the line: the
/// file may be one with a secret, which was named by mistake.
void check_line(const std::string& line, const std::string& where, const state::Environment& ours) {
  const auto equals = line.find('=');
  const std::string name = line.substr(0, equals);
  if (!is_variable_name(name))
    throw Error(ErrorKind::usage, where +
                                      ": the line does not begin with the name of a variable: "
                                      "use letters, digits and '_', such as TOKEN=abc");
  if (equals == std::string::npos && !ours(name.c_str()))
    throw Error(ErrorKind::usage, where +
                                      ": the line is not NAME=VALUE, and no variable of this "
                                      "machine has that name");
}

}  // namespace

void describe_variables(Arguments& arguments, VariableFlags& flags, const std::string& receiver) {
  arguments
      .list("--env", "NAME[=VALUE]",
            "Set a variable for " + receiver + "; NAME alone passes on its local value",
            flags.given)
      .letter = "-e";
  arguments
      .list("--env-file", "FILE", "Read variables from a file with lines NAME=VALUE", flags.files)
      .values = Values::path;
}

std::string secret_variable(const std::string& text, const state::Environment& ours,
                            const std::string& where) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) return assignment_of(text, where, ours, "@FILE");
  const std::string name = text.substr(0, equals);
  if (equals + 1 == text.size() || text[equals + 1] != '@')
    throw Error(ErrorKind::usage, where + " " + printable(name) +
                                      ": others can read a value on the command line: write " +
                                      printable(name) + " alone, or " + printable(name) + "=@FILE");
  if (equals + 2 == text.size())
    throw Error(ErrorKind::usage, where + " " + printable(text) +
                                      ": the path of the file is missing: write " +
                                      printable(name) + "=@FILE");
  std::string value = read_regular(text.substr(equals + 2), where + " " + printable(name));
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  return assignment_of(name + "=" + value, where, ours);
}

std::vector<std::string> variables_of(const VariableFlags& flags, const state::Environment& ours) {
  std::vector<std::string> all;
  for (const std::string& path : flags.files)
    for (const std::string& assignment : variables_in(read_regular(path), printable(path), ours))
      process::set_variable(all, assignment);
  for (const std::string& text : flags.given)
    process::set_variable(all, assignment_of(text, "--env", ours));
  return all;
}

std::vector<std::string> variables_in(const std::string& text, const std::string& source,
                                      const state::Environment& ours) {
  std::vector<std::string> all;
  int number = 0;
  for (std::string_view line : split_lines(without_byte_order_mark(text))) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    constexpr std::string_view kExport = "export ";  // The file may be one for a shell, too.
    if (line.starts_with(kExport)) line.remove_prefix(kExport.size());
    const std::string where = source + ":" + std::to_string(number);
    check_line(std::string(line), where, ours);
    process::set_variable(all, assignment_of(std::string(line), where, ours));
  }
  return all;
}

}  // namespace fastgpu::cli
