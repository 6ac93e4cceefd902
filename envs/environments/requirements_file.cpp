#include "envs/environments/requirements_file.hpp"

#include <algorithm>
#include <utility>

#include "agent/protocol/index_login.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/utf8.hpp"
#include "envs/environments/fields.hpp"
#include "envs/environments/requirement.hpp"
#include "envs/environments/spec.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 8;  // The limit for files that name each other.
constexpr std::size_t kMostShownLine = 100;

struct Line {
  int number;
  std::string text;
};

std::string without_comment(std::string line) {
  for (auto at = line.find('#'); at != line.npos; at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') {
      line.erase(at);
      break;
    }
  const auto begin = line.find_first_not_of(" \t\r");
  if (begin == line.npos) return "";
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

/// Returns the lines without empty ones. As in pip, a line that ends in a backslash continues in
/// the next.
std::vector<Line> lines_in(std::string_view text) {
  std::vector<Line> lines;
  std::string whole;
  int first = 1;
  text = without_byte_order_mark(text);
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.pop_back();
    if (whole.empty()) first = number;
    const bool goes_on = line.ends_with('\\') && !text.empty();
    if (line.ends_with('\\')) line.pop_back();
    whole += line;
    if (goes_on) continue;
    whole = without_comment(std::move(whole));
    if (!whole.empty()) lines.push_back({first, whole});
    whole.clear();
  }
  return lines;
}

/// An option with its value: "--index-url https://..." or "-rother.txt".
struct Option {
  std::string name;
  std::string value;
};

Option option_in(const std::string& line) {
  const bool is_long = line.starts_with("--");
  const auto end = is_long ? line.find_first_of(" \t=") : std::size_t{2};
  Option option{.name = line.substr(0, end), .value = ""};
  if (end >= line.size()) return option;
  const auto value = line.find_first_not_of(" \t=", end);
  if (value != line.npos) option.value = line.substr(value);
  return option;
}

class Reader {
 public:
  explicit Reader(const ReadFile& read) : read_(read) {}

  RequirementsFile all(const fs::path& file) {
    folder_ = file.parent_path();
    add(file, 1);
    if (extra_.empty()) return std::move(out_);
    if (out_.index.empty()) out_.index.emplace_back("https://pypi.org/simple");
    out_.index.insert(out_.index.end(), extra_.begin(), extra_.end());
    return std::move(out_);
  }

 private:
  void add(const fs::path& file, int depth) {
    const auto text = read_(file);
    if (!text) throw Error(ErrorKind::not_found, "there is no file " + file.string());
    if (depth > kDeepest)
      throw Error(ErrorKind::usage, file.string() + ": files include each other with -r");
    for (const Line& line : lines_in(*text))
      try {
        line.text.starts_with('-') ? add_option(file, line, depth) : add_package(file, line);
      } catch (const Error& e) {
        if (is_placed_) throw;
        is_placed_ = true;
        throw e.during(file.string() + ":" + std::to_string(line.number));
      }
  }

  void add_package(const fs::path& file, const Line& line) {
    check_package_line(line.text);
    const Requirement wanted = parse_requirement(line.text);
    check_comparisons(wanted);
    const bool begins_here =
        wanted.wheel.empty() || wanted.wheel.starts_with('/') || file.parent_path() == folder_;
    out_.packages.push_back(begins_here ? line.text
                                        : wanted.at("file:" + seen_from_here(file, wanted.wheel)) +
                                              options_of(line.text));
  }

  /// Returns the path of a wheel that `file` names, from the first file's folder.
  std::string seen_from_here(const fs::path& file, const std::string& wheel) const {
    return (file.parent_path() / wheel)
        .lexically_normal()
        .lexically_proximate(folder_.lexically_normal())
        .string();
  }

  /// The options of a line, each with a blank before it.
  static std::string options_of(const std::string& line) {
    const auto at = line.find(" --");
    return at == line.npos ? "" : line.substr(at);
  }

  void add_option(const fs::path& file, const Line& line, int depth) {
    const Option option = option_in(line.text);
    if (option.name == "-r" || option.name == "--requirement")
      add(file.parent_path() / option.value, depth + 1);
    else if (option.name == "-i" || option.name == "--index-url")
      out_.index = {Secret(option.value)};
    else if (option.name == "--extra-index-url")
      extra_.emplace_back(option.value);
    else
      throw Error(ErrorKind::usage, "'" + printable(agent::hide_logins(line.text), kMostShownLine) +
                                        "' is not supported here: use requirements, --hash, -r, "
                                        "--index-url and --extra-index-url");
  }

  const ReadFile& read_;
  fs::path folder_;  // The first file's, where relative paths begin.
  RequirementsFile out_;
  std::vector<Secret> extra_;
  bool is_placed_ = false;  // The error has its file and line already.
};

}  // namespace

RequirementsFile read_requirements(const fs::path& file, const ReadFile& read) {
  return Reader(read).all(file);
}

std::string to_yaml(const RequirementsFile& requirements, const char* key) {
  std::vector<std::string> index;
  for (const Secret& one : requirements.index)
    index.push_back(one.reveal());
  return yaml_list(key, requirements.packages) + yaml_list("index", index);
}

}  // namespace fastgpu::envs
