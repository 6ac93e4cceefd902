// Heartbeat: postpones the end of an unattended cluster while a command runs.
#include "base/caught.hpp"
#include "base/outcome.hpp"
#include "base/periodic_thread.hpp"
#include "cli/workflows/cluster_guards.hpp"
#include "provision/cloud/timers.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {

using namespace std::chrono_literals;
using provision::cloud::Cloud;

class Heartbeat {
 public:
  /// Starts the thread. `cloud` is null if no timer of a cloud must be set: the cluster is not in a
  /// cloud, or its nodes notice the heartbeat themselves.
  Heartbeat(Services& services, const state::Cluster& cluster, Cloud* cloud,
            std::chrono::seconds unattended)
      : messages_(services.messages()),
        cancel_(services.cancel()),
        directory_(services.state_directory()),
        cluster_(cluster),
        cloud_(cloud),
        owner_(cloud == nullptr ? "" : services.owner(cluster.provider).mark()),
        step_(std::max<std::chrono::seconds>(unattended / 10, 1s)),
        thread_(
            step_, [this] { beat(); }, PeriodicThread::First::at_once) {}

  ~Heartbeat() {
    thread_.stop();
    if (last_beat_.ok()) return;
    try {
      messages_.warn("the scheduled end of " + cluster_.name.value +
                     " could not be postponed: " + last_beat_.error().what());
    } catch (const Error&) {  // The warning cannot be written: stderr is closed.
    }
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void beat() {
    try {
      last_beat_ = attempt([this] { put_off(); });
    } catch (...) {
      last_beat_ = caught_error();
    }
  }

  /// Records the contact and sets the cloud's timers. Does nothing within `step_` of the last
  /// contact, to save requests to the cloud.
  void put_off() {
    state::Store store(directory_);  // A store belongs to one thread.
    const auto now = std::chrono::system_clock::now();
    const auto before = store.timer(cluster_.id);
    if (before && now - before->contact < step_) return;
    state::Timer timer{.contact = now, .nodes_have_order = before && before->nodes_have_order};
    store.put_timer(cluster_.id, timer);
    const GuardStatus status = guard_status_of(store, cluster_, now);
    if (status.end) timer.ends = status.end->when;
    if (cloud_ != nullptr && (!before || before->ends != timer.ends))
      timer.ends =
          set_timers(*cloud_, owner_, cluster_, store.nodes(cluster_.id), timer.ends, cancel_);
    store.put_timer(cluster_.id, timer);
  }

  Messages& messages_;
  const Cancel& cancel_;
  std::filesystem::path directory_;
  state::Cluster cluster_;
  Cloud* cloud_;
  std::string owner_;
  std::chrono::seconds step_;
  Outcome<void> last_beat_;
  PeriodicThread thread_;  // The last member: the thread uses all others.
};

void EndHeartbeat::operator()(Heartbeat* heartbeat) const noexcept {
  delete heartbeat;
}

HeartbeatPtr start_heartbeat(Services& services, const state::Cluster& cluster) {
  const provision::Guards& guards = *cluster.guards;
  if (guards == provision::Guards{}) return nullptr;
  const auto timer = services.store().timer(cluster.id);
  if (nodes_need_guards(services, cluster, guards) && (!timer || !timer->nodes_have_order))
    keep_guards(services, cluster.name, GuardUpdate::changed, Scope::nodes);
  if (!guards.unattended) return nullptr;
  Cloud* cloud = nullptr;
  if (provision::is_cloud(cluster.provider)) cloud = &services.cloud(cluster.provider);
  if (cloud != nullptr && !cloud->limits().has_timer) cloud = nullptr;
  return HeartbeatPtr(new Heartbeat(services, cluster, cloud, *guards.unattended));
}

}  // namespace fastgpu::cli
