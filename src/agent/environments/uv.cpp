#include "agent/environments/uv.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "agent/environments/node.hpp"
#include "agent/files/disk.hpp"
#include "agent/protocol/index_login.hpp"
#include "base/join.hpp"
#include "process/command.hpp"

namespace fastgpu::agent {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kIndexes = "UV_INDEX";
/// The files with the certificate authorities that a system trusts: Debian's, Red Hat's, SUSE's and
/// Alpine's.
constexpr std::array kCertificates = {"/etc/ssl/certs/ca-certificates.crt",
                                      "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                      "/etc/ssl/cert.pem"};

/// Returns true if the system has its own list of authorities, which an administrator may have
/// changed. Without one, uv trusts its built-in list.
bool has_certificates() {
  return std::ranges::any_of(kCertificates, [](const char* file) {
    std::error_code none;
    return fs::exists(file, none);
  });
}

/// Returns the prefix of an index's variables, which is its name in upper case.
std::string index_variable(std::size_t place) {
  return "UV_INDEX_FASTGPU" + std::to_string(place);
}

}  // namespace

std::string index_name(std::size_t place) {
  return "fastgpu" + std::to_string(place);
}

Uv::Uv(const BuilderChoice& choice, fs::path cache)
    : program_(fs::path(choice.tools) / "uv"),
      cache_(std::move(cache)),
      logins_(choice.logins),
      proxy_(choice.proxy),
      environment_(builder_environment(choice)) {
  set("UV_CACHE_DIR", cache_.string());
  // uv leaves its lock files in its temporary directory.
  const fs::path scratch = cache_ / "tmp";
  fs::create_directories(scratch);
  set("TMPDIR", scratch.string());
  set("UV_NO_CONFIG", "1");
  set("UV_NO_PROGRESS", "1");
  set("UV_PYTHON_DOWNLOADS", "never");
  set("UV_PYTHON_PREFERENCE", "only-system");
  set("UV_PREVIEW_FEATURES", "pylock");
  set("UV_HTTP_TIMEOUT", std::to_string(choice.index_timeout.count()));
  if (has_certificates()) set("UV_SYSTEM_CERTS", "1");
}

void Uv::set(const std::string& name, const std::string& value) {
  process::set_variable(environment_, name + "=" + value);
}

std::string Uv::with_login(const std::string& address) const {
  const auto found = std::ranges::find_if(
      logins_, [&](const Secret& login) { return without_login(login.reveal()) == address; });
  return found == logins_.end() ? address : found->reveal();
}

/// Sets the indexes. uv queries the default index last, independent of its position in the request.
void Uv::use_indexes(const SolveRequest& request) {
  std::string before_the_last;
  for (std::size_t i = 0; i + 1 < request.indexes.size(); ++i)
    before_the_last += (i == 0 ? "" : " ") + with_login(request.indexes[i]);
  if (!before_the_last.empty()) set("UV_INDEX", before_the_last);
  if (!request.indexes.empty()) set("UV_DEFAULT_INDEX", with_login(request.indexes.back()));
  set("UV_INDEX_STRATEGY", request.best_match ? "unsafe-best-match" : "first-index");
  for (std::size_t i = 0; i < request.index_for.size(); ++i) {
    const LoginParts login = login_of(with_login(request.index_for[i].address));
    if (login.user.empty() && login.password.empty()) continue;
    set(index_variable(i) + "_USERNAME", percent_decoded(login.user));
    set(index_variable(i) + "_PASSWORD", percent_decoded(login.password));
  }
}

void Uv::use_logins() {
  std::string addresses;
  for (const Secret& login : logins_)
    append_item(addresses, login.reveal(), " ");
  if (!addresses.empty()) set("UV_INDEX", addresses);
}

void Uv::forget_logins() {
  logins_.clear();
  const std::string& proxy = proxy_.reveal();
  std::erase_if(environment_, [&](const std::string& one) {
    return one.starts_with(kIndexes) || (!proxy.empty() && one.ends_with("=" + proxy));
  });
}

std::string Uv::run(const std::vector<std::string>& words, const Listener& listener) const try {
  BuilderProgram program{.argv = {program_.string()}, .environment = environment_};
  program.argv.insert(program.argv.end(), words.begin(), words.end());
  return output_of(program, listener);
} catch (const Error& e) {
  throw Error(e.kind(), hide_logins(e.what(), logins_));
}

std::string Uv::version(const Listener& listener) const {
  const std::string said = run({"--version"}, listener);
  return said.substr(0, std::min(said.find(" ("), said.find('\n')));
}

ScratchFolder::ScratchFolder(fs::path path) : path_(std::move(path)) {
  fs::remove_all(path_);  // A leftover of a killed build.
  fs::create_directories(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

TextFile::TextFile(fs::path path, const std::string& text) : path_(std::move(path)) {
  write_atomically(path_, text);
}

TextFile::~TextFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

void install_wheels(const Uv& uv, const std::string& pylock, const fs::path& python,
                    const Listener& listener, ExistingPackages installed) {
  fs::create_directories(uv.cache());
  // One process may solve while another one builds.
  const TextFile list(uv.cache() / ("pylock.part" + std::to_string(::getpid()) + ".toml"), pylock);
  // A Python of a conda channel may be marked as managed by its distribution.
  std::vector<std::string> words = {
      "pip",      "install",       "--quiet", "--no-deps", "--no-build", "--break-system-packages",
      "--python", python.string(), "-r",      list.path()};
  if (installed == ExistingPackages::replaced) words.emplace_back("--reinstall");
  uv.run(words, listener);
}

}  // namespace fastgpu::agent
