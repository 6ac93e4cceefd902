#include "envs/environments/local_wheels.hpp"

#include <fcntl.h>

#include <cerrno>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/names.hpp"
#include "base/unique_fd.hpp"
#include "envs/environments/requirement.hpp"
#include "envs/environments/toolbox.hpp"
#include "state/directory.hpp"
#include "transfer/sha256.hpp"

namespace fastgpu::envs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWheelDigits = 16;

std::string sum_of_wheel(const fs::path& file) {
  const std::string shown = printable(file.lexically_normal().string(), 200);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && errno == ENOENT)
    throw Error(ErrorKind::not_found, "there is no wheel " + shown + " here");
  if (!fd) throw system_error("opening the wheel " + shown, errno);
  return hex(transfer::sum_of_file(fd.get(), shown));
}

std::string pinned(const Requirement& wanted, const fs::path& folder) {
  const std::string sum = sum_of_wheel(folder / wanted.wheel);
  if (!wanted.hashes.empty() && !contains(wanted.hashes, sum))
    throw Error(ErrorKind::usage, "the wheel " + printable(wanted.wheel, 200) +
                                      " has the SHA-256 " + sum +
                                      ", which its line does not allow");
  return wanted.text + " --hash=sha256:" + sum;
}

std::string wheels_hash(const EnvironmentSpec& spec) {
  std::string files = "wheels";
  for (const LocalWheel& wheel : local_wheels(spec))
    files += " " + wheel.sha256 + fs::path(wheel.path).filename().string();
  return transfer::sha256_hex(files).substr(0, kWheelDigits);
}

/// Returns the wheel's path in the toolbox. Two wheels may have one name.
fs::path place_of(const LocalWheel& wheel) {
  return fs::path(wheel.sha256.substr(0, kWheelDigits)) / fs::path(wheel.path).filename();
}

std::string encoded(const std::string& path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const bool is_plain =
        is_ascii_letter_or_digit(c) || c == '/' || c == '.' || c == '-' || c == '_';
    const auto byte = static_cast<unsigned char>(c);
    out += is_plain ? std::string(1, c) : std::string{'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

Toolbox toolbox_of(const EnvironmentSpec& spec) {
  Toolbox toolbox{.files = {}, .hash = wheels_hash(spec)};
  for (const LocalWheel& wheel : local_wheels(spec)) {
    const fs::path file = spec.folder / wheel.path;
    if (const std::string sum = sum_of_wheel(file); sum != wheel.sha256)
      throw Error(ErrorKind::conflict,
                  "the wheel " + printable(file.lexically_normal().string(), 200) +
                      " has changed: it has the SHA-256 " + sum + ", and the lock has " +
                      wheel.sha256 + ": lock again: fastgpu env lock");
    toolbox.files.push_back({fs::absolute(file), place_of(wheel)});
  }
  return toolbox;
}

}  // namespace

void pin_local_wheels(EnvironmentSpec& spec, const fs::path& folder) {
  spec.folder = folder;
  for (std::string& line : spec.builder == Builder::conda ? spec.pip : spec.packages)
    if (const Requirement wanted = parse_requirement(line); !wanted.wheel.empty())
      line = pinned(wanted, folder);
}

std::vector<LocalWheel> local_wheels(const EnvironmentSpec& spec) {
  std::vector<LocalWheel> wheels;
  for (const std::string& line : index_requirements(spec))
    if (const Requirement wanted = parse_requirement(line);
        !wanted.wheel.empty() && !wanted.hashes.empty())
      wheels.push_back({wanted.project, wanted.wheel, wanted.hashes.front()});
  return wheels;
}

std::string address_of(const LocalWheel& wheel, const EnvironmentSpec& spec,
                       const agent::EnvironmentPlaces& places) {
  return "file://" + encoded((places.tools(wheels_hash(spec)) / place_of(wheel)).string());
}

void put_wheels(const NodeAccess& access, const ssh::Host& host, const InstallationRequest& request,
                const EnvironmentSpec& spec, const agent::EnvironmentStatus& status) {
  const auto wheels = local_wheels(spec);
  if (wheels.empty() || contains(status.tools, wheels_hash(spec))) return;
  const Toolbox toolbox = toolbox_of(spec);
  if (request.on_doing) request.on_doing(host.name, "sending wheels of this machine");
  const auto scratch = request.scratch / "wheels";
  state::make_private_directory(scratch);
  put_toolbox(access, host, toolbox, status, scratch);
}

void lay_out_wheels(const EnvironmentSpec& spec, const agent::EnvironmentPlaces& places) {
  if (!local_wheels(spec).empty()) lay_out(toolbox_of(spec), places.tools(wheels_hash(spec)));
}

}  // namespace fastgpu::envs
