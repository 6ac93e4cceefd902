#include "envs/environments/toolbox.hpp"

#include <algorithm>
#include <fstream>

#include "base/contains.hpp"
#include "base/hex.hpp"
#include "remote/copy.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kToolDigits = 16;
constexpr const char* kCommon = "common";
constexpr std::size_t kPiece = 1UL << 20;

void add_content(const fs::path& file, transfer::Sha256& sum) {
  std::ifstream in(file, std::ios::binary);
  std::string piece(kPiece, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0)
    sum.add(std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount())));
  if (!in.eof()) throw Error(ErrorKind::local, "reading " + file.string() + " for a toolbox");
}

/// Adds the files of a directory, in order.
void add_files(const PlacedFile& what, std::vector<PlacedFile>& files) {
  if (!fs::is_directory(what.source)) return files.push_back(what);
  std::vector<fs::path> inner;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(what.source))
    if (entry.is_regular_file()) inner.push_back(entry.path().lexically_relative(what.source));
  std::ranges::sort(inner);
  for (const fs::path& file : inner)
    files.push_back({what.source / file, what.place / file});
}

void lay_out_file(const PlacedFile& file, const fs::path& root) {
  const fs::path to = root / file.place;
  fs::create_directories(to.parent_path());
  fs::copy_file(file.source, to, fs::copy_options::overwrite_existing);
  const bool runs = (fs::status(to).permissions() & fs::perms::owner_exec) != fs::perms::none;
  fs::permissions(to, fs::perms::group_read | fs::perms::others_read, fs::perm_options::add);
  if (runs)
    fs::permissions(to, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
}

Error cannot_make(const fs::filesystem_error& e) {
  return {ErrorKind::local, "preparing the build tools for the nodes: " + std::string(e.what())};
}

}  // namespace

Toolbox make_toolbox(std::span<const PlacedFile> tools, std::span<const PlacedFile> common) try {
  Toolbox toolbox;
  for (const PlacedFile& tool : tools)
    add_files(tool, toolbox.files);
  for (const PlacedFile& file : common)
    add_files({file.source, kCommon / file.place}, toolbox.files);
  transfer::Sha256 sum;
  for (const PlacedFile& file : toolbox.files) {
    sum.add(file.place.string());
    add_content(file.source, sum);
  }
  toolbox.hash = hex(sum.finish()).substr(0, kToolDigits);
  return toolbox;
} catch (const fs::filesystem_error& e) {
  throw cannot_make(e);
}

void lay_out(const Toolbox& toolbox, const fs::path& directory) try {
  for (const PlacedFile& file : toolbox.files)
    lay_out_file(file, directory);
} catch (const fs::filesystem_error& e) {
  throw cannot_make(e);
}

fs::path common_in(const fs::path& toolbox) {
  return toolbox / kCommon;
}

void put_toolbox(const NodeAccess& access, const ssh::Host& host, const Toolbox& toolbox,
                 const agent::EnvironmentStatus& status, const fs::path& scratch) {
  if (contains(status.tools, toolbox.hash)) return;
  const auto place = agent::EnvironmentPlaces{status.prefix}.tools(toolbox.hash);
  const fs::path directory = scratch / "toolbox";
  lay_out(toolbox, directory);
  const remote::CopyOptions options{.connect_timeout = access.options.connect_timeout};
  const auto copied = remote::copy_to(access.client, {&host, 1}, {directory}, place.string(),
                                      access.agent, options, nullptr, access.cancel);
  if (!copied[0].ok())
    throw copied[0].error().during("copying the build tools to " + host.name.value);
}

}  // namespace fastgpu::envs
