// Texts that the agent reads on a node: locks, sums, lists of files, answers of a cloud's service.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "agent/environments/order.hpp"
#include "agent/environments/pylock.hpp"
#include "agent/environments/sum_lines.hpp"
#include "agent/environments/wheel_record.hpp"
#include "agent/gpu_links.hpp"
#include "agent/guard/metadata_client.hpp"
#include "agent/protocol/environment.hpp"
#include "agent/protocol/topology.hpp"
#include "base/error.hpp"

namespace agent = fastgpu::agent;
namespace fs = std::filesystem;

namespace {

void check_pylock(std::string_view text) {
  std::string all;
  for (const agent::LockedPackage& package : agent::packages_in(text))
    all += package.text;
  if (all != text) __builtin_trap();
  if (agent::without_packages(text, {"numpy"}).size() > text.size()) __builtin_trap();
}

void check_record(std::string_view text) {
  const auto files = agent::parse_wheel_record(text);
  if (!files) return;
  const std::string once = agent::to_text(*files);
  const auto again = agent::parse_wheel_record(once);
  if (!again || agent::to_text(*again) != once) __builtin_trap();
}

/// The order of a build's files is read from a file of the build.
void read_order(std::string_view text) {
  static const fs::path version = [] {
    std::string pattern = (fs::temp_directory_path() / "fastgpu-fuzz-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) __builtin_trap();
    fs::create_directories(agent::details_of(pattern));
    return fs::path(pattern);
  }();
  std::ofstream(agent::details_of(version) / "order", std::ios::binary) << text;
  agent::OrderedFiles files(version, std::nullopt);
  std::size_t bytes = 0;
  for (auto next = files(false); !next.is_over; next = files(false))
    bytes += next.path.value_or("").size() + 1;
  if (bytes > text.size()) __builtin_trap();
}

/// The text is the matrix and the addresses of nvidia-smi at once.
void check_gpu_links(std::string_view text) {
  const auto links = agent::links_of_matrix(text);
  const std::vector<agent::NearDevice> gpus = {{"0000:3b:00.0", 0}, {"0000:5e:00.0", 1}};
  agent::MachineTopology topology{.boot_id = "", .cpus = {{}}, .gpus = gpus, .adapters = {}};
  topology.gpu_links = agent::links_by_address(links, text, gpus);
  const std::string once = agent::to_text(topology);
  if (agent::parse_topology(once).gpu_links != topology.gpu_links) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check_pylock(text);
  } catch (const fastgpu::Error&) {
  }
  agent::parse_sum_lines(text);
  check_record(text);
  const auto body = agent::body_of(text);
  if (body && !text.ends_with(*body)) __builtin_trap();
  read_order(text);
  check_gpu_links(text);
  return 0;
}
