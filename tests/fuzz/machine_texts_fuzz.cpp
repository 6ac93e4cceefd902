// What this machine's kernel and a server's headers say: mounts, address ranges, dates.
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "http/backoff.hpp"
#include "provision/providers/local/mounts.hpp"
#include "provision/providers/local/node_files.hpp"
#include "provision/providers/local/subnet.hpp"

namespace local = fastgpu::provision::local;
namespace http = fastgpu::http;

namespace {

void check_mounts(std::string_view text) {
  const auto mounts = local::parse_mountinfo(text);
  const auto layers = local::choose_layers(mounts, {"/hidden"});
  for (const local::Layer& layer : layers)
    if (!layer.point.starts_with('/') || layer.storage.find('/') != std::string::npos)
      __builtin_trap();
}

void check_subnet(std::string_view text) {
  const auto subnet = local::parse_subnet(text);
  if (subnet && local::to_string(*subnet) != text) __builtin_trap();
}

void check_dates(std::string_view text) {
  const auto now = std::chrono::system_clock::now();
  http::parse_http_date(text);
  http::clock_offset(text, now);
  const auto wait = http::parse_retry_after(text, now);
  if (wait && (wait->count() < 0 || *wait > std::chrono::hours(24))) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_mounts(text);
  check_subnet(text);
  check_dates(text);
  const std::string merged = local::merge_hosts(text, local::hosts_block({}));
  if (local::merge_hosts(merged, local::hosts_block({})) != merged) __builtin_trap();
  local::shadow_without_passwords(text);
  return 0;
}
