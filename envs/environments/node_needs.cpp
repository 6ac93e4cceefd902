#include "envs/environments/node_needs.hpp"

#include "base/names.hpp"
#include "envs/environments/fields.hpp"
#include "envs/matrix/name.hpp"

namespace fastgpu::envs {
namespace {

using config::Value;

/// Reads names with the rules of Debian's policy (5.6.1); apt would remove one that ends in '-'.
std::vector<std::string> apt_packages_of(const Value& value) {
  std::vector<std::string> names = lines_of(value);
  const auto items = value.list();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const bool is_name =
        name.size() > 1 && name.find_first_of("+-.") != 0 && name.back() != '-' &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+-.") == std::string::npos;
    if (!is_name)
      throw items[i].error("'" + printable(name) +
                           "' is not a package name: write it like libaio1");
  }
  return names;
}

CannInstaller installer_of(const Value& value) {
  value.allow_only({"url", "path", "sha256"});
  const auto url = value.find("url");
  const auto path = value.find("path");
  const auto sum = value.find("sha256");
  if (url.has_value() == path.has_value() || !sum)
    throw value.error(
        "an installer needs 'sha256' and either 'url' (its address) or 'path' (its path on the "
        "nodes)");
  CannInstaller installer{.from = url ? url_of(*url, "an installer") : line_of(*path),
                          .sha256 = sha256_of(*sum)};
  if (path && !installer.from.starts_with('/'))
    throw path->error("must begin with '/', but '" + printable(installer.from) + "' does not");
  return installer;
}

Cann cann_of(const Value& value) {
  value.allow_only({"version", "installers"});
  const auto version = value.find("version");
  const auto installers = value.find("installers");
  if (!version || !installers)
    throw value.error("CANN needs 'version', such as 8.3.RC1, and 'installers', a list");
  Cann cann{.version = version->parsed(
                [](const std::string& text) { return parse_accelerator("can" + text).version; })};
  for (const Value& item : installers->list())
    cann.installers.push_back(installer_of(item));
  if (cann.installers.empty()) throw installers->error("names no installer");
  return cann;
}

std::string to_yaml(const Cann& cann) {
  std::string out = "cann:\n  version: " + yaml_scalar(cann.version) + "\n  installers:\n";
  for (const CannInstaller& installer : cann.installers)
    out += std::string("    - {") + (is_url(installer.from) ? "url: " : "path: ") +
           yaml_scalar(installer.from) + ", sha256: " + installer.sha256 + "}\n";
  return out;
}

}  // namespace

NodeNeeds read_node_needs(const Value& root) {
  NodeNeeds needs;
  if (const auto apt = root.find("apt")) needs.apt = apt_packages_of(*apt);
  if (const auto driver = root.find("driver")) needs.driver = release_of(*driver, "580");
  if (const auto cuda = root.find("cuda")) needs.cuda = release_of(*cuda, "13.0");
  if (const auto cann = root.find("cann")) needs.cann = cann_of(*cann);
  if (const auto rdma = root.find("rdma")) needs.rdma = rdma->boolean();
  return needs;
}

std::string to_yaml(const NodeNeeds& needs) {
  std::string out = yaml_list("apt", needs.apt);
  if (!needs.driver.empty()) out += "driver: " + yaml_scalar(needs.driver) + "\n";
  if (!needs.cuda.empty()) out += "cuda: " + yaml_scalar(needs.cuda) + "\n";
  if (needs.cann) out += to_yaml(*needs.cann);
  if (needs.rdma) out += "rdma: true\n";
  return out;
}

}  // namespace fastgpu::envs
