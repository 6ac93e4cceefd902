#include "envs/environments/sources.hpp"

#include "base/contains.hpp"
#include "envs/environments/toolbox.hpp"
#include "state/directory.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::size_t kSourceDigits = 16;

/// Returns the file's name. Its ending shows the format: tar, or zip for ".zip".
std::string file_of(const Artefact& source) {
  const std::string address = source.url.substr(0, source.url.find_first_of("?#"));
  return source.sha256 + (address.ends_with(".zip") ? ".zip" : "");
}

}  // namespace

std::string sources_hash(const EnvironmentLock& lock) {
  std::string files = "sources";
  for (const Artefact& source : sources_in(lock))
    files += " " + file_of(source);
  return transfer::sha256_hex(files).substr(0, kSourceDigits);
}

void put_sources(const NodeAccess& access, const ssh::Host& host,
                 const InstallationRequest& request, const EnvironmentLock& lock,
                 const agent::EnvironmentStatus& status) {
  Toolbox sources{.hash = sources_hash(lock)};
  const auto found = sources_in(lock);
  if (found.empty() || contains(status.tools, sources.hash)) return;
  const auto scratch = request.scratch / "sources";
  state::make_private_directory(scratch);
  for (const Artefact& source : found) {
    if (request.on_doing)
      request.on_doing(host.name, "fetching the source of " + source.package + " for it");
    try {
      state::write_private_file(scratch / file_of(source), request.fetch_source(source));
    } catch (const Error& e) {
      throw e.during("the source of " + source.package + " " + source.version);
    }
    sources.files.push_back({scratch / file_of(source), file_of(source)});
  }
  put_toolbox(access, host, sources, status, scratch);
}

}  // namespace fastgpu::envs
