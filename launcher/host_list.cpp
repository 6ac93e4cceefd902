#include "launcher/host_list.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numbers.hpp"

namespace fastgpu::launcher {
namespace {

constexpr int kMostHostSlots = 1'024;

NodeSlots parse_host(const std::string& text) {
  const auto colon = text.rfind(':');
  NodeSlots host{.name = {text.substr(0, colon)}};
  if (host.name.value.empty())
    throw Error(ErrorKind::usage, "-H: '" + printable(text) + "' has no host name");
  if (colon == std::string::npos) return host;
  const std::string_view slots = std::string_view(text).substr(colon + 1);
  if (slots == "*" || slots == "auto") {
    host.slots = kSlotsOfNode;
    return host;
  }
  host.slots = to_number<int>(slots).value_or(0);
  if (host.slots < 1 || host.slots > kMostHostSlots)
    throw Error(ErrorKind::usage, "-H: '" + printable(text.substr(colon + 1)) +
                                      "' is not a number of slots from 1 to " +
                                      std::to_string(kMostHostSlots) + " (write it like demo-0:4)");
  return host;
}

}  // namespace

std::vector<NodeSlots> parse_host_list(const std::string& text) {
  std::vector<NodeSlots> hosts;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    const NodeSlots host = parse_host(text.substr(begin, end - begin));
    const auto known = std::ranges::find(hosts, host.name, &NodeSlots::name);
    if (known == hosts.end())
      hosts.push_back(host);
    else
      known->slots = sum_of_slots(known->slots, host.slots);
  }
  return hosts;
}

int sum_of_slots(int some, int more) {
  return some == kSlotsOfNode || more == kSlotsOfNode ? kSlotsOfNode : some + more;
}

}  // namespace fastgpu::launcher
