#include "agent/protocol/environment.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"

namespace fastgpu::agent {
namespace {

constexpr std::size_t kLongestName = 80;
constexpr char kBetweenWords = '\x1f';

std::vector<std::string> parts_of(std::string_view text, char separator) {
  const auto parts = split(text, separator);
  return {parts.begin(), parts.end()};
}

FoundVersion parse_found(const std::string& text) {
  const auto words = parts_of(text, ' ');
  if (words.size() != 5)
    throw Error(ErrorKind::remote, "'" + printable(text) + "' is not a version of an environment");
  return {words[0], words[1], words[2], words[3], words[4] == "current"};
}

/// Parses a position in a chain.
std::size_t parse_place(const std::string& text) {
  if (const auto place = to_number<std::size_t>(text)) return *place;
  throw Error(ErrorKind::remote, "'" + printable(text) + "' is not a place in a chain");
}

void add_all(Records& records, std::string_view key, const std::vector<std::string>& values) {
  for (const std::string& value : values)
    records.add(key, value);
}

void add_choice(Records& records, const BuilderChoice& choice) {
  records.add("builder", choice.name);
  records.add("tools", choice.tools);
  records.add("index_timeout", choice.index_timeout.count());
  for (const Secret& login : choice.logins)
    records.add("login", login.reveal());
  if (!choice.proxy.reveal().empty()) records.add("proxy", choice.proxy.reveal());
}

BuilderChoice choice_in(const Records& records) {
  BuilderChoice choice{.name = records.get("builder"),
                       .tools = records.get("tools"),
                       .index_timeout = std::chrono::seconds(records.number("index_timeout"))};
  for (std::string& login : records.all("login"))
    choice.logins.emplace_back(std::move(login));
  for (std::string& proxy : records.all("proxy"))
    choice.proxy = Secret(std::move(proxy));
  return choice;
}

}  // namespace

void check_environment_name(std::string_view name) {
  const bool usable = !name.empty() && name.size() <= kLongestName &&
                      is_ascii_letter_or_digit(name.front()) &&
                      std::ranges::all_of(name, [](char c) {
                        return is_ascii_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
                      });
  if (!usable)
    throw Error(ErrorKind::usage,
                "'" + printable(name) +
                    "' is not a name of an environment: it has 1 to 80 letters, "
                    "digits, '.', '_' and '-', and begins with a letter or digit");
}

std::filesystem::path details_of(const std::filesystem::path& version) {
  return version / ".fastgpu";
}

std::filesystem::path manifest_of(const std::filesystem::path& version) {
  return details_of(version) / "manifest";
}

std::filesystem::path runner_of(const std::filesystem::path& version) {
  return details_of(version) / "run";
}

std::string environment_of_runner(const std::filesystem::path& program) {
  const std::filesystem::path version = program.parent_path().parent_path();
  if (!program.is_absolute() || program != runner_of(version) || !version.has_relative_path())
    return {};
  return version.parent_path().filename().string();
}

std::string to_text(const EnvironmentStatus& status) {
  Records records;
  records.add("prefix", status.prefix);
  records.add("machine", status.machine);
  records.add("libc", status.libc);
  records.add("driver", status.driver);
  add_all(records, "cann", status.cann);
  records.add("free", static_cast<std::int64_t>(status.free_bytes));
  records.add("active", status.active);
  add_all(records, "tools", status.tools);
  for (const FoundVersion& found : status.versions)
    records.add("version", found.name + " " + found.version + " " + found.spec + " " +
                               found.manifest + " " + (found.current ? "current" : "other"));
  add_all(records, "used_prefix", status.used_prefixes);
  return records.text();
}

EnvironmentStatus parse_environment_status(const Records& records) {
  EnvironmentStatus status{.prefix = records.get("prefix"),
                           .machine = records.get("machine"),
                           .libc = records.get("libc"),
                           .driver = records.get("driver"),
                           .cann = records.all("cann"),
                           .free_bytes = static_cast<std::uint64_t>(records.number("free")),
                           .active = records.get("active"),
                           .tools = records.all("tools"),
                           .versions = {},
                           .used_prefixes = records.all("used_prefix")};
  for (const std::string& text : records.all("version"))
    status.versions.push_back(parse_found(text));
  return status;
}

Records to_records(const SolveRequest& request) {
  Records records;
  add_choice(records, request.builder);
  records.add("prefix", request.prefix);
  records.add("python", request.python);
  add_all(records, "index", request.indexes);
  records.add("best_match", std::int64_t{request.best_match});
  for (const PackageIndex& one : request.index_for)
    records.add("index_for", one.package + kBetweenWords + one.address);
  add_all(records, "channel", request.channels);
  add_all(records, "package", request.packages);
  add_all(records, "source", request.sources);
  add_all(records, "wheel", request.wheels);
  return records;
}

SolveRequest parse_solve_request(const Records& records) {
  SolveRequest request{.builder = choice_in(records),
                       .prefix = records.get("prefix"),
                       .python = records.get("python"),
                       .indexes = records.all("index"),
                       .best_match = records.number("best_match") != 0,
                       .index_for = {},
                       .channels = records.all("channel"),
                       .packages = records.all("package"),
                       .sources = records.all("source"),
                       .wheels = records.all("wheel")};
  for (const std::string& text : records.all("index_for")) {
    auto words = parts_of(text, kBetweenWords);
    if (words.size() != 2)
      throw Error(ErrorKind::remote, "'" + printable(text) + "' is not a package with its index");
    request.index_for.push_back({std::move(words[0]), std::move(words[1])});
  }
  return request;
}

Records to_records(const SolveAnswer& answer) {
  Records records;
  records.add("solution", answer.solution);
  records.add("wheels", answer.wheels);
  records.add("build_tools", answer.build_tools);
  records.add("python", answer.python);
  records.add("python_version", answer.python_version);
  records.add("machine", answer.machine);
  records.add("libc", answer.libc);
  records.add("builder", answer.builder);
  return records;
}

SolveAnswer parse_solve_answer(const Records& records) {
  return {.solution = records.get("solution"),
          .wheels = records.get("wheels"),
          .build_tools = records.get("build_tools"),
          .python = records.get("python"),
          .python_version = records.get("python_version"),
          .machine = records.get("machine"),
          .libc = records.get("libc"),
          .builder = records.get("builder")};
}

Records to_records(const BuildRequest& request) {
  Records records;
  add_choice(records, request.builder);
  records.add("prefix", request.prefix);
  records.add("name", request.name);
  records.add("version", request.version);
  records.add("common", request.common);
  records.add("python", request.python);
  records.add("python_version", request.python_version);
  records.add("solution", request.solution);
  records.add("wheels", request.wheels);
  add_all(records, "part", request.parts);
  add_all(records, "source", request.sources);
  records.add("source_files", request.source_files);
  records.add("build_tools", request.build_tools);
  add_all(records, "way", request.way);
  records.add("recipe", request.recipe);
  records.add("lock", request.lock);
  records.add("activate", request.activate);
  records.add("run", request.run);
  records.add("bytecode", std::int64_t{request.has_bytecode});
  for (const auto& command : request.post_install)
    records.add("post_install", joined(command, {&kBetweenWords, 1}));
  return records;
}

BuildRequest parse_build_request(const Records& records) {
  BuildRequest request{.builder = choice_in(records),
                       .prefix = records.get("prefix"),
                       .name = records.get("name"),
                       .version = records.get("version"),
                       .common = records.get("common"),
                       .python = records.get("python"),
                       .python_version = records.get("python_version"),
                       .solution = records.get("solution"),
                       .wheels = records.get("wheels"),
                       .parts = records.all("part"),
                       .sources = records.all("source"),
                       .source_files = records.get("source_files"),
                       .build_tools = records.get("build_tools"),
                       .way = records.all("way"),
                       .recipe = records.get("recipe"),
                       .lock = records.get("lock"),
                       .activate = records.get("activate"),
                       .run = records.get("run"),
                       .has_bytecode = records.number("bytecode") != 0,
                       .post_install = {}};
  for (const std::string& command : records.all("post_install"))
    request.post_install.push_back(parts_of(command, kBetweenWords));
  return request;
}

Records to_records(const BuildAnswer& answer) {
  Records records;
  records.add("manifest", answer.manifest);
  for (const std::size_t place : answer.reached)
    records.add("reached", static_cast<std::int64_t>(place));
  add_all(records, "warning", answer.warnings);
  return records;
}

BuildAnswer parse_build_answer(const Records& records) {
  BuildAnswer answer{
      .manifest = records.get("manifest"), .reached = {}, .warnings = records.all("warning")};
  for (const std::string& place : records.all("reached"))
    answer.reached.push_back(parse_place(place));
  return answer;
}

Records to_records(const VerifyAnswer& answer) {
  Records records;
  records.add("manifest", answer.manifest);
  records.add("files", static_cast<std::int64_t>(answer.files));
  add_all(records, "damaged", answer.damaged);
  return records;
}

VerifyAnswer parse_verify_answer(const Records& records) {
  return {.manifest = records.get("manifest"),
          .files = static_cast<std::uint64_t>(records.number("files")),
          .damaged = records.all("damaged")};
}

}  // namespace fastgpu::agent
