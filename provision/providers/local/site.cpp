#include "provision/providers/local/site.hpp"

#include <unistd.h>

#include <array>
#include <string_view>
#include <system_error>

#include "base/contains.hpp"
#include "base/host_names.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/image_writer.hpp"
#include "provision/providers/local/links.hpp"
#include "provision/providers/local/node_files.hpp"
#include "provision/providers/local/overlay_place.hpp"

namespace fastgpu::provision::local {
namespace {

namespace fs = std::filesystem;

std::string machine_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

/// Returns paths without links, so that the same folders are covered in a node's tree.
std::vector<std::string> hidden_folders(const LocalConfig& config, const fs::path& storage) {
  std::vector<fs::path> folders = config.hidden;
  folders.push_back(config.root);
  folders.push_back(storage);
  std::vector<std::string> hidden;
  for (const fs::path& folder : folders) {
    std::error_code error;
    const std::string real = fs::weakly_canonical(folder, error).lexically_normal().string();
    if (!error && real != "/" && !contains(hidden, real)) hidden.push_back(real);
  }
  return hidden;
}

std::vector<Layer> layers_here(const std::vector<std::string>& hidden) {
  const auto mounts = read_file("/proc/self/mountinfo");
  std::vector<Layer> layers = choose_layers(parse_mountinfo(mounts.value_or("")), hidden);
  // Containers mount single files, such as /etc/hosts; an overlay needs a folder.
  std::erase_if(layers, [](const Layer& layer) {
    std::error_code none;
    return layer.point != "/" && !fs::is_directory(layer.point, none);
  });
  return layers;
}

}  // namespace

std::string find_sshd(const LocalConfig& config) {
  for (const fs::path& program : config.sshd_programs)
    if (::access(program.c_str(), X_OK) == 0) return program.string();
  throw Error(ErrorKind::local,
              "this machine has no sshd, which local nodes run: apt-get install openssh-server");
}

LocalSite open_site(const LocalConfig& config, const state::Cluster& cluster) {
  LocalSite site;
  if (const auto rate = cluster.local().link_rate)
    site.link_rate = std::to_string(rate->bits_per_second);
  site.sshd = find_sshd(config);
  const fs::path storage = choose_storage(config);
  site.root_id = make_root_id(config);
  site.folder = storage / cluster.id.value;
  site.network = ensure_network(
      {cluster.id.value, cluster.name.value, bridge_mark(site.root_id, config.root), storage});
  site.hidden = hidden_folders(config, storage);
  site.fuse_overlayfs = config.fuse_overlayfs;
  // The server process sees all mounts below "/", so that one layer shows all disks.
  site.layers =
      config.fuse_overlayfs.empty() ? layers_here(site.hidden) : std::vector<Layer>{{"/", "root"}};
  return site;
}

std::string hosts_of(const LocalClusterRecord& record) {
  std::vector<HostsLine> entries;
  if (const std::string name = machine_name(); !name.empty() && name != "localhost") {
    const std::string short_name = name.substr(0, name.find('.'));
    entries.push_back(
        {record.subnet.bridge(), name == short_name ? name : name + " " + short_name});
  }
  for (const auto& [index, name] : record.nodes) {
    const std::string host_name = host_form(name);
    entries.push_back(
        {record.subnet.node(index), name == host_name ? name : host_name + " " + name});
  }
  return hosts_block(entries);
}

BootJob boot_job(const LocalSite& site, int index, const std::string& name) {
  const LocalClusterRecord& record = site.network.record;
  const fs::path folder = site.node_folder(index);
  BootJob job;
  job.mark = site.root_id + "/" + record.id + "/" + std::to_string(index);
  job.order.directory = folder.string();
  job.order.node_name = host_form(name);
  job.order.address = to_string(record.subnet.node(index));
  job.order.port_name = port_name(record.id, index);
  job.order.bridge = site.network.bridge;
  job.order.link_rate = site.link_rate;
  job.order.sshd = site.sshd;
  job.order.fuse_overlayfs = site.fuse_overlayfs;
  job.order.hidden = site.hidden;
  for (const Layer& layer : site.layers)
    job.order.overlays.push_back({layer.point, layer_storage(folder, layer).string()});
  return job;
}

void make_layer_folders(const LocalSite& site, int index) {
  for (const Layer& layer : site.layers) {
    const fs::path storage = layer_storage(site.node_folder(index), layer);
    make_private_folder(storage / "work");
    make_private_folder(storage / "upper");
  }
}

fs::path find_cluster_folder(const LocalConfig& config, const std::string& cluster_id) {
  const auto storage = find_storage(config);
  return storage ? *storage / cluster_id : fs::path();
}

std::string find_mark(const LocalConfig& config) {
  const auto id = find_root_id(config);
  return id ? bridge_mark(*id, config.root) : std::string();
}

}  // namespace fastgpu::provision::local
