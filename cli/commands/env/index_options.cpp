#include "cli/commands/env/index_options.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>

#include "base/files.hpp"
#include "cli/commands/shared/secret_file.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kLargestFile = 1UL << 20;
constexpr const char* kFlag = "--index-credentials";
constexpr const char* kVariable = "FASTGPU_INDEX_LOGINS";

Secret content_of(const UniqueFd& file, const std::string& what) {
  std::string text = read_to_end(file.get(), "reading " + what, kLargestFile);
  if (text.size() > kLargestFile) throw Error(ErrorKind::usage, what + " is not a netrc file");
  return Secret(std::move(text));
}

/// Adds the logins in the addresses of the environment variable.
void add_variable(Context& context, envs::IndexLogins& logins) try {
  std::istringstream words(context.environment()(kVariable).value_or(""));
  for (std::string word; words >> word;)
    logins.add(Secret(word));
} catch (const Error& e) {
  throw e.during(kVariable);
}

std::string netrc_of(const Context& context) {
  const auto& environment = context.environment();
  if (const auto named = environment("NETRC"); named && !named->empty()) return *named;
  const std::string home = environment("HOME").value_or("");
  return home.empty() ? "" : home + "/.netrc";
}

void add_netrc(Context& context, envs::IndexLogins& logins) {
  const std::string path = netrc_of(context);
  if (path.empty() || ::access(path.c_str(), F_OK) != 0) return;
  try {
    logins.add_netrc(content_of(open_secret_file("netrc", path), path), path);
  } catch (const Error& e) {
    context.ui().warn(std::string(e.what()) + "; its logins are not used");
  }
}

}  // namespace

void describe_index_options(Arguments& arguments, IndexOptions& options) {
  shared(
      arguments.text(kFlag, "FILE",
                     "Read logins of package indexes from a file like ~/.netrc, which is read, too",
                     options.credentials))
      .values = Values::path;
}

envs::IndexLogins index_logins(Context& context, const IndexOptions& options,
                               const envs::EnvironmentSpec& spec) {
  envs::IndexLogins logins;
  if (!options.credentials.empty())
    logins.add_netrc(content_of(open_secret_file(kFlag, options.credentials), options.credentials),
                     options.credentials);
  add_variable(context, logins);
  logins.add(spec.logins);
  add_netrc(context, logins);
  return logins;
}

}  // namespace fastgpu::cli
