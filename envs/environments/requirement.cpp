#include "envs/environments/requirement.hpp"

#include <algorithm>

#include "agent/protocol/index_login.hpp"
#include "agent/protocol/package_name.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kHash = "--hash";
constexpr std::size_t kMostShown = 200;

/// Splits a line into words, with pip's rule for separating options.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (auto at = line.find_first_not_of(kBlanks); at != line.npos;
       at = line.find_first_not_of(kBlanks, at)) {
    const auto end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string sha256_in(std::string_view hash) {
  constexpr std::string_view kKind = "sha256:";
  constexpr std::size_t kDigits = 64;
  std::string sum(hash.substr(std::min(kKind.size(), hash.size())));
  std::ranges::transform(sum, sum.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (!hash.starts_with(kKind) || sum.size() != kDigits ||
      sum.find_first_not_of("0123456789abcdef") != sum.npos)
    throw Error(ErrorKind::usage, "--hash=" + printable(hash) +
                                      " cannot be checked: write --hash=sha256: and 64 "
                                      "hexadecimal digits");
  return sum;
}

std::string project_in(std::string_view requirement) {
  return agent::normalized_package_name(requirement.substr(
      0, std::min(requirement.find_first_of(" \t[=<>!~;@(,"), requirement.size())));
}

std::string files_of(const std::vector<Artefact>& artefacts, const std::string& project) {
  std::string files;
  for (const Artefact& one : artefacts)
    if (agent::normalized_package_name(one.package) == project)
      files += (files.empty() ? "" : ", ") + printable(one.url.substr(one.url.rfind('/') + 1)) +
               " with " + one.sha256;
  return files;
}

void keep_allowed(const std::string& line, std::vector<Artefact>& artefacts) {
  const Requirement wanted = parse_requirement(line);
  if (wanted.hashes.empty()) return;
  const auto is_of_it = [&](const Artefact& one) {
    return agent::normalized_package_name(one.package) == wanted.project;
  };
  const auto is_refused = [&](const Artefact& one) {
    return is_of_it(one) && std::ranges::find(wanted.hashes, one.sha256) == wanted.hashes.end();
  };
  if (std::ranges::none_of(artefacts, is_of_it)) return;  // Its marker does not apply here.
  const std::string files = files_of(artefacts, wanted.project);
  std::erase_if(artefacts, is_refused);
  if (std::ranges::none_of(artefacts, is_of_it))
    throw Error(ErrorKind::remote, "'" + printable(line, kMostShown) +
                                       "': no file has a SHA-256 that --hash allows; there is " +
                                       files);
}

}  // namespace

Requirement parse_requirement(std::string_view line) {
  Requirement out;
  const auto words = words_of(line);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (!word.starts_with('-')) {
      out.text += (out.text.empty() ? "" : " ") + std::string(word);
      continue;
    }
    const std::string_view option = word.substr(0, word.find('='));
    if (option != kHash)
      throw Error(ErrorKind::usage, "the option '" + printable(option) + "' in '" +
                                        printable(agent::hide_logins(line), kMostShown) +
                                        "' would have no effect here: leave it out");
    const bool is_apart = option.size() == word.size() && i + 1 < words.size();
    word = is_apart ? words[++i] : word.substr(std::min(option.size() + 1, word.size()));
    out.hashes.push_back(sha256_in(word));
  }
  out.project = project_in(out.text);
  return out;
}

void keep_allowed_files(const EnvironmentSpec& spec, std::vector<Artefact>& artefacts) {
  if (spec.builder == Builder::conda) return;
  for (const std::string& line : spec.packages)
    keep_allowed(line, artefacts);
}

}  // namespace fastgpu::envs
