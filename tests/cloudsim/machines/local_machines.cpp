#include "cloudsim/machines/local_machines.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/join.hpp"
#include "cloudsim/machines/cloud_init.hpp"
#include "provision/providers/local/node_process.hpp"
#include "provision/providers/local/site.hpp"
#include "provision/providers/local/subnet.hpp"

namespace fastgpu::cloudsim {
namespace {

/// Makes sshd accept the keys in ~/.ssh/authorized_keys, as on a cloud's machine; a local node does
/// not.
const std::string kOwnKeys =
    "mkdir -p -m 700 /root/.ssh && ln -sf /etc/fastgpu/authorized_keys "
    "/root/.ssh/authorized_keys\n";

/// Returns the keys as lines of a file, without the last newline.
std::string lines_of(const std::vector<std::string>& keys) {
  return joined(keys, "\n");
}

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kBetweenLooks{250};

/// A node has no init system. So its `shutdown` ends it at once, or does nothing when it cancels.
const std::string kPowerOff = R"(cat > /usr/local/sbin/shutdown <<'END'
#!/bin/sh
[ "$1" = -c ] || kill -TERM 1
END
chmod 755 /usr/local/sbin/shutdown
)";

/// Hides nodes without a public address from this machine, which represents the rest of the world
/// at that address. Other nodes can still reach them.
std::string hide_from(const std::string& world) {
  return "ip route replace blackhole " + world + "/32\n";
}

fs::path make_root() {
  std::string path = fs::temp_directory_path() / "fastgpu-cloudsim-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) throw system_error("making " + path, errno);
  return path;
}

state::Cluster make_cluster(const fs::path& root) {
  state::Cluster cluster;
  const std::size_t hash = std::hash<std::string>{}(root.string());
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = 0; shift < 32; shift += 4)
    cluster.id.value += kDigits[hash >> shift & 15];
  cluster.name = {"cloud"};
  cluster.provider = "local";
  cluster.user = "root";
  return cluster;
}

/// Copies a tree with modes and owners. Existing files stay, because the boot writes them again.
void copy_tree(const fs::path& from, const fs::path& to) {
  process::Child copier({.argv = {"cp", "-a", "-n", (from / ".").string(), to.string()},
                         .in = {.mode = process::StreamMode::null},
                         .out = {.mode = process::StreamMode::null},
                         .err = {.mode = process::StreamMode::null}});
  copier.wait();
}

}  // namespace

LocalMachines::LocalMachines(fs::path init_program, std::string image_script, Report report)
    : root_(make_root()),
      config_{.root = root_, .init_program = std::move(init_program)},
      provider_(config_),
      cluster_(make_cluster(root_)),
      image_script_(std::move(image_script)),
      report_(std::move(report)) {
  provider_.check_usable();
  cluster_.network = provider_.prepare(cluster_, false);
  worker_ = std::jthread([this](const std::stop_token& stopped) { work(stopped); });
}

LocalMachines::~LocalMachines() {
  worker_.request_stop();
  if (worker_.joinable()) worker_.join();
  scripts_.clear();
  try {
    std::vector<state::Node> nodes;
    for (const auto& [id, index] : indexes_)
      nodes.push_back(node_of(index));
    provider_.destroy(cluster_, nodes);
    provider_.release(cluster_, {});
    fs::remove_all(root_);
  } catch (const std::exception&) {
    // The rest can be found by the name of its folder; nothing is left to receive an error.
  }
}

std::string LocalMachines::gateway() const {
  const auto* network = std::get_if<state::HostNetwork>(&*cluster_.network);
  const auto subnet = provision::local::parse_subnet(network == nullptr ? "" : network->range);
  if (!subnet) throw Error(ErrorKind::internal, "the cluster has no network");
  return to_string(subnet->bridge());
}

void LocalMachines::enqueue(Verb verb, const Instance& instance, const std::string& image) {
  const std::scoped_lock lock(lock_);
  tasks_.push_back(Task{verb, instance.id, instance.user_data, image});
  changed_.notify_all();
}

void LocalMachines::boot(const Instance& instance) {
  enqueue(Verb::boot, instance, instance.image);
}

void LocalMachines::stop(const Instance& instance) {
  enqueue(Verb::stop, instance, "");
}

void LocalMachines::destroy(const Instance& instance) {
  enqueue(Verb::destroy, instance, "");
}

void LocalMachines::keep_image(const Instance& instance, const std::string& image) {
  enqueue(Verb::keep_image, instance, image);
}

fs::path LocalMachines::folder_of_image(const std::string& image) const {
  return root_ / "images" / image;
}

void LocalMachines::keep(const Task& task) {
  const fs::path layers = provision::local::find_cluster_folder(config_, cluster_.id.value) /
                          std::to_string(indexes_.at(task.id)) / "layers";
  for (const fs::directory_entry& layer : fs::directory_iterator(layers)) {
    const fs::path copy = folder_of_image(task.image) / layer.path().filename();
    fs::create_directories(copy);
    copy_tree(layer.path() / "upper", copy);
  }
  report_([&](SimulatedWorld& world) { world.resources.at(task.image).data["copying"] = false; });
}

void LocalMachines::put_images(const std::vector<Task>& tasks) {
  std::vector<Task> from_images = tasks;
  std::erase_if(from_images, [&](const Task& task) {
    return !indexes_.contains(task.id) || !fs::exists(folder_of_image(task.image));
  });
  if (from_images.empty()) return;
  const Cancel cancel;
  provider_.stop(cluster_, nodes_of(from_images), cancel);
  for (const Task& task : from_images) {
    const fs::path layers = provision::local::find_cluster_folder(config_, cluster_.id.value) /
                            std::to_string(indexes_.at(task.id)) / "layers";
    for (const fs::directory_entry& layer : fs::directory_iterator(folder_of_image(task.image)))
      copy_tree(layer.path(), layers / layer.path().filename() / "upper");
  }
  provider_.start(cluster_, nodes_of(from_images), cancel);
}

std::vector<LocalMachines::Task> LocalMachines::next_batch(const std::stop_token& stopped) {
  std::unique_lock lock(lock_);
  changed_.wait_for(lock, stopped, kBetweenLooks, [this] { return !tasks_.empty(); });
  std::vector<Task> batch;
  while (!tasks_.empty() && (batch.empty() || tasks_.front().verb == batch.front().verb)) {
    batch.push_back(std::move(tasks_.front()));
    tasks_.pop_front();
  }
  return batch;
}

void LocalMachines::work(const std::stop_token& stopped) {
  while (!stopped.stop_requested()) {
    const std::vector<Task> batch = next_batch(stopped);
    if (batch.empty()) look_for_power_off();
    if (batch.empty()) continue;
    try {
      run(batch);
    } catch (const std::exception& e) {
      for (const Task& task : batch)
        fail(task.id, e.what());
    }
  }
}

/// Finds instances that have powered themselves off: they do not run, and were not stopped.
void LocalMachines::look_for_power_off() {
  const fs::path cluster = provision::local::find_cluster_folder(config_, cluster_.id.value);
  for (const auto& [id, index] : indexes_) {
    if (off_.contains(id) || provision::local::find_live(cluster / std::to_string(index))) continue;
    off_.insert(id);
    report_([&](SimulatedWorld& world) { world.power_off(world.instances.at(id)); });
  }
}

void LocalMachines::fail(const std::string& id, const std::string& reason) {
  report_([&](SimulatedWorld& world) { world.boot_failed(id, reason); });
}

state::Node LocalMachines::node_of(int index) const {
  return state::Node{
      .cluster = cluster_.id, .index = index, .name = {"cloud-" + std::to_string(index)}};
}

std::vector<state::Node> LocalMachines::nodes_of(const std::vector<Task>& batch) const {
  std::vector<state::Node> nodes;
  for (const Task& task : batch)
    if (const auto found = indexes_.find(task.id); found != indexes_.end())
      nodes.push_back(node_of(found->second));
  return nodes;
}

int LocalMachines::new_index(const std::string& id) {
  int index = 0;
  while (std::ranges::any_of(indexes_, [&](const auto& entry) { return entry.second == index; }))
    ++index;
  indexes_[id] = index;
  return index;
}

void LocalMachines::run(const std::vector<Task>& batch) {
  const Cancel cancel;
  switch (batch.front().verb) {
    case Verb::boot:
      return boot_all(batch);
    case Verb::stop:
      for (const Task& task : batch)
        off_.insert(task.id);
      provider_.stop(cluster_, nodes_of(batch), cancel);
      report_([&](SimulatedWorld& world) {
        for (const Task& task : batch)
          world.machine_stopped(task.id);
      });
      return;
    case Verb::destroy:
      provider_.destroy(cluster_, nodes_of(batch));
      for (const Task& task : batch)
        indexes_.erase(task.id);
      return;
    case Verb::keep_image:
      for (const Task& task : batch)
        keep(task);
      return;
  }
}

void LocalMachines::boot_all(const std::vector<Task>& batch) {
  std::vector<Task> there, missing;
  for (const Task& task : batch)
    (indexes_.contains(task.id) ? there : missing).push_back(task);
  if (!missing.empty()) create(missing);
  if (there.empty()) return;
  const Cancel cancel;
  const auto results = provider_.start(cluster_, nodes_of(there), cancel);
  for (std::size_t i = 0; i < there.size(); ++i) {
    const auto& result = results[i];
    if (!result.ok()) {
      fail(there[i].id, result.error().what());
      continue;
    }
    off_.erase(there[i].id);
    run_script(indexes_.at(there[i].id), (is_public(there[i].id) ? "" : hide_from(gateway())) +
                                             read_cloud_init(there[i].user_data).boot_script);
    report_([&](SimulatedWorld& world) { world.booted(there[i].id, result.value().address); });
  }
}

void LocalMachines::create(const std::vector<Task>& tasks) {
  std::vector<provision::NodeRequest> requests;
  std::vector<std::string> ids, scripts;
  for (const Task& task : tasks) {
    const CloudInit init = read_cloud_init(task.user_data);
    if (init.host_private_key.empty() || init.authorized_keys.empty()) {
      fail(task.id, "its user data has no host key or nobody who may log in");
      continue;
    }
    const int index = new_index(task.id);
    requests.push_back({.index = index,
                        .name = node_of(index).name,
                        .token = task.id,
                        .host_private_key = Secret(init.host_private_key),
                        .host_public_key = init.host_public_key,
                        .authorized_key = lines_of(init.authorized_keys)});
    ids.push_back(task.id);
    scripts.push_back(init.boot_script + init.script);
  }
  const Cancel cancel;
  const auto results = provider_.create(cluster_, requests, cancel);
  put_images(tasks);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) {
      fail(ids[i], results[i].error().what());
      continue;
    }
    run_script(requests[i].index,
               kOwnKeys + (is_public(ids[i]) ? "" : hide_from(gateway())) + scripts[i]);
    report_([&](SimulatedWorld& world) { world.booted(ids[i], results[i].value().address); });
  }
}

bool LocalMachines::is_public(const std::string& id) {
  bool is_public = false;
  report_(
      [&](SimulatedWorld& world) { is_public = !world.instances.at(id).public_address.empty(); });
  return is_public;
}

void LocalMachines::run_script(int index, const std::string& script) {
  const fs::path folder =
      provision::local::find_cluster_folder(config_, cluster_.id.value) / std::to_string(index);
  const auto live = provision::local::find_live(folder);
  if (!live) return;
  process::Child shell({.argv = {"nsenter", "--target", std::to_string(live->pid), "--mount",
                                 "--uts", "--net", "--pid", "--root", "--wd=/", "--", "/bin/sh"},
                        .in = {.mode = process::StreamMode::pipe},
                        .out = {.mode = process::StreamMode::null},
                        .err = {.mode = process::StreamMode::null}});
  const std::string text =
      "exec >/var/log/cloud-init-output.log 2>&1\n" + kPowerOff + image_script_ + script;
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::write(shell.in().get(), text.data() + sent, text.size() - sent);
    if (count <= 0) break;
    sent += std::size_t(count);
  }
  shell.in() = UniqueFd();
  scripts_.push_back(std::move(shell));
}

}  // namespace fastgpu::cloudsim
