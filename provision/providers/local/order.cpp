#include "provision/providers/local/order.hpp"

#include <functional>
#include <map>

#include "base/error.hpp"

namespace fastgpu::provision::local {

std::string encode(const BootOrder& order) {
  std::string out;
  const auto put = [&](std::string_view key, const std::string& value) {
    out.append(key).append("=").append(value).push_back('\0');
  };
  put("directory", order.directory);
  put("node_name", order.node_name);
  put("address", order.address);
  put("port_name", order.port_name);
  put("bridge", std::to_string(order.bridge));
  put("link_rate", order.link_rate);
  put("sshd", order.sshd);
  put("fuse_overlayfs", order.fuse_overlayfs);
  for (const OverlayOrder& overlay : order.overlays) {
    put("overlay", overlay.point);
    put("storage", overlay.storage);
  }
  for (const std::string& folder : order.hidden)
    put("hidden", folder);
  return out;
}

BootOrder decode(std::string_view text) {
  BootOrder order;
  const std::map<std::string_view, std::function<void(std::string)>> setters = {
      {"directory", [&](std::string value) { order.directory = std::move(value); }},
      {"node_name", [&](std::string value) { order.node_name = std::move(value); }},
      {"address", [&](std::string value) { order.address = std::move(value); }},
      {"port_name", [&](std::string value) { order.port_name = std::move(value); }},
      {"bridge", [&](const std::string& value) { order.bridge = std::stoi(value); }},
      {"link_rate", [&](std::string value) { order.link_rate = std::move(value); }},
      {"sshd", [&](std::string value) { order.sshd = std::move(value); }},
      {"fuse_overlayfs", [&](std::string value) { order.fuse_overlayfs = std::move(value); }},
      {"overlay",
       [&](std::string value) {
         order.overlays.push_back({std::move(value), {}});
       }},
      {"storage", [&](std::string value) { order.overlays.back().storage = std::move(value); }},
      {"hidden", [&](std::string value) { order.hidden.push_back(std::move(value)); }},
  };
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = pair.find('=');
    const auto setter = setters.find(pair.substr(0, equals));
    if (end == text.npos || equals == text.npos || setter == setters.end())
      throw Error(ErrorKind::internal, "the boot order is damaged at '" + std::string(pair) + "'");
    setter->second(std::string(pair.substr(equals + 1)));
    text.remove_prefix(end + 1);
  }
  return order;
}

}  // namespace fastgpu::provision::local
