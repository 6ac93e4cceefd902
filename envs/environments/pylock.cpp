#include "envs/environments/pylock.hpp"

#include <charconv>
#include <string_view>

#include "base/error.hpp"
#include "base/names.hpp"
#include "envs/environments/fields.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kPackage = "[[packages]]";
constexpr auto kNone = std::string_view::npos;

/// The text in quotes behind `key = `, from `at` on, which is moved past it; empty where there is
/// none. What uv writes there (names, versions, addresses, sums) needs no escapes.
std::string_view quoted_after(std::string_view text, std::string_view key, std::size_t& at) {
  const auto found = text.find(std::string(key) + " = \"", at);
  if (found == kNone) return {};
  const auto begin = found + key.size() + 4;
  const auto end = text.find('"', begin);
  if (end == kNone) return {};
  at = end;
  return text.substr(begin, end - begin);
}

std::string_view first_quoted(std::string_view text, std::string_view key) {
  std::size_t at = 0;
  return quoted_after(text, key, at);
}

/// "size = 123"; 0 where the index has not told it, or tells what cannot be.
std::uint64_t size_in(std::string_view text) {
  constexpr std::string_view kSize = "size = ";
  const auto found = text.find(kSize);
  if (found == kNone) return 0;
  text.remove_prefix(found + kSize.size());
  std::uint64_t size = 0;
  std::from_chars(text.data(), text.data() + text.size(), size);
  return size > kLargestArtefact ? 0 : size;
}

void read_package(std::string_view block, std::vector<Artefact>& out) {
  const std::string name(first_quoted(block, "\nname"));
  const std::string version(first_quoted(block, "\nversion"));
  const auto wheels = block.find("\nwheels = ");
  std::size_t at = wheels == kNone ? block.size() : wheels;
  const std::size_t before = out.size();
  for (;;) {
    const std::string url(quoted_after(block, "url", at));
    if (url.empty()) break;
    const std::size_t after = at;
    const std::string sha256(quoted_after(block, "sha256", at));
    if (sha256.empty()) continue;
    out.push_back({.package = name, .version = version, .url = url, .sha256 = sha256});
    out.back().bytes = size_in(block.substr(after, at - after));
  }
  if (out.size() == before)
    throw Error(ErrorKind::remote,
                "'" + printable(name) + " " + printable(version) +
                    "' has no wheel with an address and a SHA-256 in the package index");
}

std::string size_of(const Artefact& artefact) {
  return artefact.bytes == 0 ? "" : ", size = " + std::to_string(artefact.bytes);
}

std::string quoted(const std::string& text) {
  return yaml_scalar(text);  // TOML's basic strings are JSON's.
}

}  // namespace

std::vector<Artefact> read_pylock(const std::string& text) {
  std::vector<Artefact> artefacts;
  std::string_view rest = text;
  for (auto at = rest.find(kPackage); at != kNone; at = rest.find(kPackage)) {
    rest.remove_prefix(at + kPackage.size());
    read_package(rest.substr(0, rest.find(kPackage)), artefacts);
  }
  return artefacts;
}

std::string write_pylock(const std::vector<Artefact>& artefacts) {
  std::string out = "lock-version = \"1.0\"\ncreated-by = \"fastgpu\"\n";
  if (artefacts.empty()) out += "packages = []\n";
  for (std::size_t i = 0; i < artefacts.size();) {
    const std::string& name = artefacts[i].package;
    out += "\n" + std::string(kPackage) + "\nname = " + quoted(name) +
           "\nversion = " + quoted(artefacts[i].version) + "\nwheels = [\n";
    for (; i < artefacts.size() && artefacts[i].package == name; ++i)
      out += "    { url = " + quoted(artefacts[i].url) + size_of(artefacts[i]) +
             ", hashes = { sha256 = " + quoted(artefacts[i].sha256) + " } },\n";
    out += "]\n";
  }
  return out;
}

}  // namespace fastgpu::envs
