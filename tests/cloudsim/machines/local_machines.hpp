// Instances that are local nodes: real hosts for SSH, in namespaces of this machine's kernel.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "cloudsim/world/world.hpp"
#include "process/child.hpp"
#include "provision/providers/local/local_provider.hpp"

namespace fastgpu::cloudsim {

class LocalMachines : public Machines {
 public:
  /// Applies a change to the world under the simulation's lock.
  using Report = std::function<void(const std::function<void(SimulatedWorld&)>&)>;

  /// Creates a folder among the temporary files. Throws if local nodes are not possible here.
  /// `image_script` has the test's additions to the image: sh runs it first at each boot.
  LocalMachines(std::filesystem::path init_program, std::string image_script, Report report);
  /// Destroys all nodes, their network and the folder.
  ~LocalMachines() override;

  /// Returns this machine's address in the nodes' network.
  std::string gateway() const;

  void boot(const Instance& instance) override;
  void stop(const Instance& instance) override;
  void destroy(const Instance& instance) override;
  void keep_image(const Instance& instance, const std::string& image) override;

 private:
  enum class Verb : std::uint8_t { boot, stop, destroy, keep_image };
  struct Task {
    Verb verb;
    std::string id;
    std::string user_data;
    std::string image{};  ///< The image to boot from, or the image to make.
  };

  void enqueue(Verb verb, const Instance& instance, const std::string& image);
  void work(const std::stop_token& stopped);
  std::vector<Task> next_batch(const std::stop_token& stopped);
  void run(const std::vector<Task>& batch);
  void boot_all(const std::vector<Task>& batch);
  void create(const std::vector<Task>& tasks);
  /// Copies the part of an instance's disk that differs from this machine's.
  void keep(const Task& task);
  /// Copies the disks of images to new nodes, and starts these again.
  void put_images(const std::vector<Task>& tasks);
  std::filesystem::path folder_of_image(const std::string& image) const;
  bool is_public(const std::string& id);
  void run_script(int index, const std::string& script);
  void look_for_power_off();
  void fail(const std::string& id, const std::string& reason);
  int new_index(const std::string& id);
  std::vector<state::Node> nodes_of(const std::vector<Task>& batch) const;
  state::Node node_of(int index) const;

  std::filesystem::path root_;
  provision::local::LocalConfig config_;
  provision::LocalProvider provider_;
  state::Cluster cluster_;
  std::string image_script_;
  Report report_;
  /// The indexes of the nodes by instance. Used only by the worker.
  std::map<std::string, int> indexes_;
  std::set<std::string> off_{};  ///< The instances among these that do not run.
  std::vector<process::Child> scripts_;
  std::mutex lock_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_;
  std::jthread worker_;
};

}  // namespace fastgpu::cloudsim
