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
constexpr const char* kCommon = "common";

/// Adds one file to the directory and to its sum.
void put_file(const fs::path& from, const fs::path& root, const fs::path& place,
              transfer::Sha256& sum) {
  const fs::path to = root / place;
  fs::create_directories(to.parent_path());
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  const bool runs = (fs::status(to).permissions() & fs::perms::owner_exec) != fs::perms::none;
  fs::permissions(to, fs::perms::group_read | fs::perms::others_read, fs::perm_options::add);
  if (runs)
    fs::permissions(to, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
  sum.add(place.string());
  sum.add(state::read_file(to).value_or(""));
}

void put(const PlacedFile& what, const fs::path& root, transfer::Sha256& sum) {
  if (!fs::is_directory(what.source)) return put_file(what.source, root, what.place, sum);
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(what.source))
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(what.source));
  std::ranges::sort(files);
  for (const fs::path& file : files)
    put_file(what.source / file, root, what.place / file, sum);
}

}  // namespace

Toolbox make_toolbox(const fs::path& directory, std::span<const PlacedFile> tools,
                     std::span<const PlacedFile> common) try {
  transfer::Sha256 sum;
  for (const PlacedFile& tool : tools)
    put(tool, directory, sum);
  for (const PlacedFile& file : common)
    put({file.source, kCommon / file.place}, directory, sum);
  return {directory, transfer::hex(sum.finish()).substr(0, kHashDigits)};
} catch (const fs::filesystem_error& e) {
  throw Error(ErrorKind::local,
              "putting together what nodes need for building: " + std::string(e.what()));
}

fs::path common_in(const fs::path& toolbox) {
  return toolbox / kCommon;
}

void put_toolbox(const NodeAccess& access, const ssh::Host& host, const Toolbox& toolbox,
                 const agent::EnvironmentStatus& status) {
  if (std::ranges::find(status.tools, toolbox.hash) != status.tools.end()) return;
  const auto place = agent::EnvironmentPlaces{status.prefix}.tools(toolbox.hash);
  const remote::CopyOptions options{.connect_timeout = access.options.connect_timeout};
  const auto copied =
      remote::copy_to(access.client, {&host, 1}, {toolbox.directory}, place.string(), access.agent,
                      options, nullptr, access.cancel);
  if (!copied[0].ok())
    throw copied[0].error().during("copying what builds environments to " + host.name.value);
}

}  // namespace fastgpu::envs
