#include "comm/trace/links.hpp"

#include <utility>

namespace fastgpu::comm {
namespace {

/// Returns `text` between quotation marks; names of devices have nothing to escape but these.
std::string quoted_name(const std::string& text) {
  std::string out = "\"";
  for (const char c : text)
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ') out += c;
  return out + '"';
}

std::string link_json(const LinkCounters& link) {
  const std::pair<const char*, std::uint64_t> counts[] = {
      {"frames_sent", link.frames_sent}, {"frames_received", link.frames_received},
      {"bytes_sent", link.bytes_sent},   {"bytes_received", link.bytes_received},
      {"failures", link.failures},       {"reconnects", link.reconnects},
      {"connections", link.connections}};
  std::string text = "{\"name\": " + quoted_name(link.name);
  for (const auto& [name, count] : counts)
    text += ", \"" + std::string(name) + "\": " + std::to_string(count);
  return text + "}";
}

}  // namespace

std::string links_json(std::span<const LinkCounters> links, Rank rank) {
  std::string text = R"({"schema": "fastgpu.comm.links/1", "rank": )" + std::to_string(rank.value) +
                     R"(, "links": [)";
  const char* separator = "";
  for (const LinkCounters& link : links) {
    text += separator + link_json(link);
    separator = ", ";
  }
  return text + "]}\n";
}

}  // namespace fastgpu::comm
