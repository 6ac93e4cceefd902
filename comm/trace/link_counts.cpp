#include "comm/trace/link_counts.hpp"

#include <cstdint>

namespace fastgpu::comm {
namespace {

/// One of the counts of a link.
struct LinkCount {
  const char* name;
  const char* help;
  std::uint64_t LinkCounters::*count;
  bool is_state = false;  ///< True for a count that may become less.
};

constexpr LinkCount kLinkCounts[] = {
    {"frames_sent", "Pieces of messages sent by the link", &LinkCounters::frames_sent},
    {"frames_received", "Pieces of messages received by the link", &LinkCounters::frames_received},
    {"bytes_sent", "Bytes of messages sent by the link", &LinkCounters::bytes_sent},
    {"bytes_received", "Bytes of messages received by the link", &LinkCounters::bytes_received},
    {"direct_bytes", "Bytes moved directly from or to the memory of GPUs",
     &LinkCounters::direct_bytes},
    {"failures", "Connections given up while their peer went on", &LinkCounters::failures},
    {"reconnects", "Connections made in place of these", &LinkCounters::reconnects},
    {"connections", "Open connections", &LinkCounters::connections, true}};

/// Returns `text` between quotation marks; names of devices have nothing to escape but these.
std::string quoted_name(const std::string& text) {
  std::string out = "\"";
  for (const char c : text)
    if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ') out += c;
  return out + '"';
}

std::string link_json(const LinkCounters& link) {
  std::string text = "{\"name\": " + quoted_name(link.name);
  for (const LinkCount& each : kLinkCounts)
    text += ", \"" + std::string(each.name) + "\": " + std::to_string(link.*each.count);
  return text + "}";
}

}  // namespace

std::string links_list(std::span<const LinkCounters> links) {
  std::string text = "[";
  const char* separator = "";
  for (const LinkCounters& link : links) {
    text += separator + link_json(link);
    separator = ", ";
  }
  return text + "]";
}

std::string links_json(std::span<const LinkCounters> links, Rank rank) {
  return R"({"schema": "fastgpu.comm.links/1", "rank": )" + std::to_string(rank.value) +
         R"(, "links": )" + links_list(links) + "}\n";
}

std::string links_prometheus(std::span<const LinkCounters> links, Rank rank) {
  if (links.empty()) return {};
  const std::string of_rank = "{rank=\"" + std::to_string(rank.value) + "\",link=";
  std::string text;
  for (const LinkCount& each : kLinkCounts) {
    const std::string name =
        "fastgpu_comm_link_" + std::string(each.name) + (each.is_state ? "" : "_total");
    text += "# HELP " + name + " " + each.help + "\n# TYPE " + name +
            (each.is_state ? " gauge\n" : " counter\n");
    for (const LinkCounters& link : links)
      text +=
          name + of_rank + quoted_name(link.name) + "} " + std::to_string(link.*each.count) + "\n";
  }
  return text;
}

}  // namespace fastgpu::comm
