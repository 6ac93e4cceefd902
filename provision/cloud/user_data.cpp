#include "provision/cloud/user_data.hpp"

#include <nlohmann/json.hpp>

#include "provision/cloud/data_disk.hpp"

namespace fastgpu::provision::cloud {
namespace {

using nlohmann::json;

/// JSON is YAML, so that quoting is a library's matter.
json document_of(const FirstBoot& boot) {
  json user = {{"name", boot.user}, {"ssh_authorized_keys", boot.authorized_keys}};
  if (boot.user != "root") {
    user["sudo"] = "ALL=(ALL) NOPASSWD:ALL";
    user["shell"] = "/bin/bash";
  }
  json document = {{"disable_root", boot.user != "root"},
                   {"ssh_pwauth", false},
                   {"ssh_deletekeys", true},
                   {"ssh_genkeytypes", json::array()},
                   {"ssh_keys",
                    {{"ed25519_private", boot.host_private_key.reveal()},
                     {"ed25519_public", boot.host_public_key}}},
                   {"users", json::array({user})}};
  if (boot.shut_down_after) {
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(*boot.shut_down_after).count();
    document["runcmd"] = {{"shutdown", "-P", "+" + std::to_string(minutes)}};
  }
  if (boot.data_disk_gib > 0)
    document["bootcmd"] = json::array({data_disk_command(boot.data_disk_gib)});
  return document;
}

}  // namespace

Secret user_data(const FirstBoot& boot) {
  return Secret("#cloud-config\n" + document_of(boot).dump() + "\n");
}

}  // namespace fastgpu::provision::cloud
