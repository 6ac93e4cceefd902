#include "comm/common/variables.hpp"

#include <unistd.h>

#include <string_view>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::string_view kPrefix = "FASTGPU_COMM_";
/// The variables that comm/README.md describes.
constexpr std::string_view kNames[] = {
    "ALGORITHM",     "COLLECTIVES",   "COUNTERS",   "DEVICE",       "EXCHANGE",    "FABRIC",
    "FABRIC_DEVICE", "FABRIC_PLUGIN", "FABRIC_PUT", "FLOWS",        "FUSION",      "GOSSIP_STEP",
    "GPUDIRECT",     "GUARD",         "INTERFACE",  "JOIN_TIMEOUT", "LANES",       "LIBRARY",
    "MASTER_ADDR",   "MASTER_PORT",   "MIXED_KEEP", "MIXED_SMALL",  "MPI_PLUGIN",  "MULTISTEP",
    "NANCHECK",      "NCCL",          "REQUIRE",    "SECRET",       "SECRET_FILE", "SHARED_MEMORY",
    "SILENCE",       "SIMD",          "STALL",      "TIMELINE",     "TIMEOUT",     "TOPOLOGY",
    "TRANSPORT",     "TUNE",          "WIRE"};

}  // namespace

std::vector<std::string> process_variables() {
  std::vector<std::string> names;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    names.emplace_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

void check_variables(std::span<const std::string> names) {
  for (const std::string& name : names) {
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view own = std::string_view(name).substr(kPrefix.size());
    if (contains(kNames, own)) continue;
    const std::vector<std::string> known(std::begin(kNames), std::end(kNames));
    const std::string nearest = nearest_name(own, known);
    throw Error(
        ErrorKind::usage,
        printable(name) + " is no variable of libfastgpu_comm" +
            (nearest.empty() ? "" : ": did you mean " + std::string(kPrefix) + nearest + "?"));
  }
}

}  // namespace fastgpu::comm
