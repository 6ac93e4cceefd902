#include "provision/cloud/user_data.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "provision/cloud/data_disk.hpp"
#include "provision/cloud/key_pair.hpp"

namespace fastgpu::provision::cloud {
namespace {

using nlohmann::json;

/// The maximum lengths of an Ed25519 key's parts in OpenSSH's forms.
constexpr std::size_t kPrivateKeyBytes = 512;
constexpr std::size_t kPublicKeyBytes = 128;

/// Returns the document. JSON is also YAML: a library does the quoting.
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

void check_first_boot(std::span<const std::string> ssh_keys, std::size_t key_pairs,
                      int data_disk_gib, std::size_t limit, std::string_view cloud) {
  FirstBoot boot{.user = "a-user-that-is-not-root",
                 .authorized_keys = {ssh_keys.begin(), ssh_keys.end()},
                 .host_private_key = Secret(std::string(kPrivateKeyBytes, '-')),
                 .host_public_key = std::string(kPublicKeyBytes, '-'),
                 .shut_down_after = std::chrono::years(1),
                 .data_disk_gib = data_disk_gib};
  boot.authorized_keys.emplace_back(kPublicKeyBytes, '-');  // The cluster's key.
  boot.authorized_keys.insert(boot.authorized_keys.end(), key_pairs,
                              std::string(kMostOfPublicKey, '-'));
  const std::size_t size = user_data(boot).reveal().size();
  if (size <= limit) return;
  throw Error(ErrorKind::usage, std::to_string(ssh_keys.size()) + " --ssh-key and " +
                                    std::to_string(key_pairs) +
                                    " --key-pair are too many: machines would get " +
                                    std::to_string(size) + " bytes at their first boot, and " +
                                    std::string(cloud) + " takes " + std::to_string(limit));
}

}  // namespace fastgpu::provision::cloud
