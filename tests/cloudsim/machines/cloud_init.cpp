#include "cloudsim/machines/cloud_init.hpp"

#include <yaml-cpp/yaml.h>

#include <charconv>

#include "base/error.hpp"
#include "base/quote.hpp"

namespace fastgpu::cloudsim {
namespace {

std::string text_of(const YAML::Node& node) {
  return node && node.IsScalar() ? node.as<std::string>() : "";
}

void read_keys(const YAML::Node& list, std::vector<std::string>& out) {
  if (list && list.IsSequence())
    for (const YAML::Node& key : list)
      out.push_back(text_of(key));
}

void read_users(const YAML::Node& document, CloudInit& out) {
  read_keys(document["ssh_authorized_keys"], out.authorized_keys);
  const YAML::Node users = document["users"];
  if (!users || !users.IsSequence()) return;
  for (const YAML::Node& user : users) {
    if (!user.IsMap()) continue;
    out.user = text_of(user["name"]);
    read_keys(user["ssh_authorized_keys"], out.authorized_keys);
  }
}

std::string write_file(const YAML::Node& file) {
  const std::string path = text_of(file["path"]);
  const std::string quoted = shell_quote(path);
  std::string out = "mkdir -p \"$(dirname " + quoted + ")\"\nprintf %s " +
                    shell_quote(text_of(file["content"])) + " > " + quoted + "\n";
  const std::string mode = text_of(file["permissions"]);
  if (!mode.empty()) out += "chmod " + shell_quote(mode) + " " + quoted + "\n";
  return out;
}

/// Returns the N of "shutdown ... +N".
std::optional<std::chrono::minutes> shutdown_of(const std::vector<std::string>& words) {
  if (words.empty() || words.front() != "shutdown") return std::nullopt;
  int minutes = 0;
  const std::string& last = words.back();
  if (last.starts_with('+')) std::from_chars(last.data() + 1, last.data() + last.size(), minutes);
  return std::chrono::minutes(minutes);
}

/// Adds the list's commands to `script`. A shutdown among them is returned and not added.
std::optional<std::chrono::minutes> read_commands(const YAML::Node& list, std::string& script) {
  std::optional<std::chrono::minutes> lasts;
  if (!list || !list.IsSequence()) return lasts;
  for (const YAML::Node& command : list) {
    std::vector<std::string> words;
    if (command.IsSequence())
      for (const YAML::Node& word : command)
        words.push_back(text_of(word));
    if (const auto minutes = shutdown_of(words))
      lasts = minutes;
    else
      script += (command.IsScalar() ? text_of(command) : shell_join(words)) + "\n";
  }
  return lasts;
}

}  // namespace

CloudInit read_cloud_init(const std::string& user_data) try {
  CloudInit out;
  if (!user_data.starts_with("#cloud-config")) return out;
  const YAML::Node document = YAML::Load(user_data);
  if (!document.IsMap()) return out;
  read_users(document, out);
  if (const YAML::Node keys = document["ssh_keys"]; keys && keys.IsMap()) {
    out.host_private_key = text_of(keys["ed25519_private"]);
    out.host_public_key = text_of(keys["ed25519_public"]);
  }
  if (const YAML::Node files = document["write_files"]; files && files.IsSequence())
    for (const YAML::Node& file : files)
      out.script += write_file(file);
  out.each_boot_lasts = read_commands(document["bootcmd"], out.boot_script);
  out.first_boot_lasts = read_commands(document["runcmd"], out.script);
  return out;
} catch (const YAML::Exception& e) {
  throw Error(ErrorKind::usage,
              "the user data is no YAML: line " + std::to_string(e.mark.line + 1));
}

}  // namespace fastgpu::cloudsim
