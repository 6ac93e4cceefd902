#include "launcher/kubernetes/kubeconfig.hpp"

#include <vector>

#include "base/base64.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/join.hpp"
#include "base/names.hpp"

namespace fastgpu::launcher {
namespace {

using config::Value;

/// Returns the sentence on an entry that a list of the kubeconfig lacks, with what to write
/// instead.
std::string unknown_entry(const std::string& part, const std::string& name,
                          const std::vector<std::string>& known) {
  constexpr std::size_t kMostShown = 300;
  const std::string near = nearest_name(name, known);
  return "the kubeconfig has no " + part + " '" + printable(name) + "'" +
         (near.empty() ? "" : ", did you mean '" + printable(near) + "'?") +
         (known.empty() ? "" : " (" + printable(joined(known), kMostShown) + ")");
}

/// Returns the value of a part such as `cluster` in the entry with that name of a list such as
/// `clusters`.
Value named_part(const Value& root, const char* list, const char* part, const std::string& name) {
  const auto entries = root.find(list);
  if (!entries) throw root.error(std::string("the kubeconfig has no '") + list + "'");
  std::vector<std::string> known;
  for (const Value& entry : entries->list()) {
    const auto own_name = entry.find("name");
    if (!own_name) continue;
    known.push_back(own_name->text());
    if (known.back() != name) continue;
    if (const auto found = entry.find(part)) return *found;
    throw entry.error(std::string("'") + part + "' is missing");
  }
  throw entries->error(unknown_entry(part, name, known));
}

std::string text_or(const Value& map, const char* key, const std::string& fallback = {}) {
  const auto found = map.find(key);
  return found ? found->text() : fallback;
}

/// Returns the content of the file that `value` names, relative to the directory of the kubeconfig.
std::string content_of(const Value& value, const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / value.text();
  std::optional<std::string> text;
  try {
    text = read_file(path);
  } catch (const Error& e) {
    throw e.during(value.where());
  }
  if (!text) throw value.error("the file " + printable(path.string(), 300) + " does not exist");
  return *text;
}

/// Returns the text of `NAME-data`, which is Base64, or of the file that NAME names.
std::string data_or_file(const Value& map, const std::string& name,
                         const std::filesystem::path& directory) {
  if (const auto data = map.find(name + "-data")) {
    const auto text = base64_decode(data->text());
    if (!text) throw data->error("this is not Base64");
    return *text;
  }
  const auto file = map.find(name);
  return file ? content_of(*file, directory) : "";
}

void refuse(const Value& map, const char* key, const std::string& why) {
  if (const auto found = map.find(key)) throw found->error(why);
}

void read_server(const Value& cluster, const std::filesystem::path& directory,
                 KubernetesAccess& access) {
  const auto skip = cluster.find("insecure-skip-tls-verify");
  if (skip && skip->boolean())
    throw skip->error(
        "fastgpu always verifies the server's certificate: set certificate-authority-data");
  refuse(cluster, "proxy-url", "fastgpu takes proxies from HTTPS_PROXY alone");
  refuse(cluster, "tls-server-name", "fastgpu verifies the name in 'server' alone");
  const auto server = cluster.find("server");
  if (!server) throw cluster.error("'server' is missing");
  access.server = server->text();
  while (access.server.ends_with('/'))
    access.server.pop_back();
  if (!access.server.starts_with("https://"))
    throw server->error("the server must begin with https://");
  access.ca_text = data_or_file(cluster, "certificate-authority", directory);
}

void read_login(const Value& user, const std::filesystem::path& directory,
                KubernetesAccess& access) {
  if (const auto exec = user.find("exec"))
    throw exec->error("the user logs in by the plugin '" + printable(text_or(*exec, "command")) +
                      "', which fastgpu does not run: use a token or a client certificate");
  refuse(user, "auth-provider", "fastgpu has no such login: use a token or a client certificate");
  refuse(user, "username", "fastgpu has no login by password: use a token or a client certificate");
  if (const auto file = user.find("tokenFile")) {
    const std::string text = content_of(*file, directory);
    access.token = Secret(text.substr(0, text.find_last_not_of(" \r\n") + 1));
  }
  if (const auto token = user.find("token")) access.token = Secret(token->text());
  http::ClientCertificate certificate;
  certificate.certificate = data_or_file(user, "client-certificate", directory);
  certificate.key = Secret(data_or_file(user, "client-key", directory));
  const bool has_key = !certificate.key.reveal().empty();
  if (certificate.certificate.empty() == has_key)
    throw user.error("a client certificate and its key belong together: one of them is missing");
  if (has_key) access.certificate = std::move(certificate);
}

}  // namespace

KubernetesAccess read_kubeconfig(const config::Document& document,
                                 const std::filesystem::path& directory,
                                 const std::string& context) {
  const Value root = document.root();
  KubernetesAccess access;
  access.context = context.empty() ? text_or(root, "current-context") : context;
  if (access.context.empty())
    throw root.error("the kubeconfig has no current context: set kubernetes.context");
  const Value chosen = named_part(root, "contexts", "context", access.context);
  access.name_space = text_or(chosen, "namespace", "default");
  const std::string cluster = text_or(chosen, "cluster");
  read_server(named_part(root, "clusters", "cluster", cluster), directory, access);
  const std::string user = text_or(chosen, "user");
  if (!user.empty()) read_login(named_part(root, "users", "user", user), directory, access);
  return access;
}

std::filesystem::path kubeconfig_path(
    const std::function<std::optional<std::string>(const char*)>& environment) {
  const auto given = environment("KUBECONFIG");
  if (given && !given->empty()) {
    if (given->find(':') != std::string::npos)
      throw Error(ErrorKind::usage,
                  "KUBECONFIG names several files, which fastgpu does not merge: name one");
    return *given;
  }
  return std::filesystem::path(environment("HOME").value_or("/")) / ".kube" / "config";
}

}  // namespace fastgpu::launcher
