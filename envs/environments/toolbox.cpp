// The directory with what a node needs for building.
#include <algorithm>

#include "envs/environments/installation.hpp"
#include "remote/copy.hpp"
#include "state/directory.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 16;

void put(const fs::path& from, const fs::path& to, transfer::Sha256& sum) {
  fs::create_directories(to.parent_path());
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  sum.add(to.filename().string());
  sum.add(state::read_file(to).value_or(""));
}

}  // namespace

Toolbox make_toolbox(const fs::path& directory, const fs::path& uv,
                     std::span<const fs::path> libraries) try {
  transfer::Sha256 sum;
  put(uv, directory / "uv", sum);
  fs::permissions(directory / "uv", fs::perms::owner_all | fs::perms::group_exec |
                                        fs::perms::group_read | fs::perms::others_exec |
                                        fs::perms::others_read);
  for (const fs::path& library : libraries)
    put(library, directory / "common" / "lib" / "fastgpu" / library.filename(), sum);
  return {directory, transfer::hex(sum.finish()).substr(0, kHashDigits)};
} catch (const fs::filesystem_error& e) {
  throw Error(ErrorKind::local,
              "putting together what nodes need for building: " + std::string(e.what()));
}

void put_toolbox(const NodeAccess& access, const ssh::Host& host, const Toolbox& toolbox,
                 const agent::EnvironmentStatus& status) {
  if (std::ranges::find(status.tools, toolbox.hash) != status.tools.end()) return;
  const auto place = agent::EnvironmentPlaces{status.prefix}.tools(toolbox.hash);
  const remote::CopyOptions options{.connect_timeout = access.options.connect_timeout};
  const auto copied =
      remote::copy_to(access.client, {&host, 1}, {toolbox.directory}, place.string(), access.agent,
                      options, nullptr, access.cancel);
  if (!copied[0].ok()) throw copied[0].error().during("copying uv to " + host.name.value);
}

}  // namespace fastgpu::envs
