#include "cli/workflows/lease.hpp"

#include <unistd.h>

#include <array>
#include <optional>

#include "base/periodic_thread.hpp"
#include "base/time_text.hpp"
#include "base/units.hpp"
#include "cli/workflows/cluster_hosts.hpp"
#include "cli/workflows/record_publisher.hpp"
#include "cli/workflows/user_ssh.hpp"
#include "provision/cloud/ownership.hpp"
#include "provision/providers.hpp"

namespace fastgpu::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kDuration = 60s;
constexpr std::chrono::seconds kRenewAfter = 20s;
constexpr std::chrono::milliseconds kBetweenAttempts = 500ms;
constexpr std::chrono::seconds kNodeTimeout = 15s;

std::string clock_text(std::int64_t seconds) {
  return utc_text(std::chrono::system_clock::from_time_t(seconds), "%H:%M:%SZ");
}

Error refusal(const LeaseOptions& options, const agent::LeaseAnswer& answer,
              const std::string& holder) {
  const agent::LeaseBook& book = answer.book;
  if (!book.owner.empty() && book.owner != holder && !options.takes_over)
    return {ErrorKind::conflict, "cluster '" + options.cluster + "' was taken over by " +
                                     provision::cloud::owner_text(book.owner, book.taken) +
                                     ": `fastgpu attach cluster " + options.cluster +
                                     " --provider " + options.provider +
                                     "` takes it back, `fastgpu delete cluster " + options.cluster +
                                     " --forget` forgets it here"};
  return {
      ErrorKind::conflict,
      "cluster '" + options.cluster + "' is being changed by " + printable(book.who) +
          ", whose lease ends at " + clock_text(book.until) +
          " unless renewed: wait for it (--wait 2m)" +
          (options.takes_over ? ", or, if that machine is down, break the lease (--force)" : "")};
}

/// Returns "broke the lease of laptop, process 4711, which had it for 12m".
std::string broken_text(const agent::LeaseAnswer& answer) {
  std::string text = "broke the lease of " + printable(answer.broken);
  if (answer.broken_since <= 0 || answer.broken_since > answer.now) return text;
  const std::chrono::seconds held(answer.now - answer.broken_since);
  return text + ", held for " + to_string(std::chrono::milliseconds(held));
}

/// Returns the head node, which keeps the lease: the node with the lowest index. Null if its
/// machine does not run.
const state::Node* head_in(const std::vector<state::Node>& nodes) {
  if (nodes.empty()) return nullptr;
  const state::Node& head = nodes.front();
  const bool is_there = head.state == state::NodeState::running && !head.address.empty();
  return is_there ? &head : nullptr;
}

/// A lease that is abandoned if the head node does not run after the operation.
class HeldLease {
 public:
  HeldLease(Services& services, const state::Cluster& cluster, ssh::Host head,
            const LeaseOptions& options)
      : services_(services), cluster_(cluster.id), lease_(services, std::move(head), options) {}
  ~HeldLease() try {
    if (head_in(services_.store().nodes(cluster_)) == nullptr) lease_.abandon();
  } catch (const std::exception&) {
    return;  // The lease is returned all the same, or runs out.
  }
  HeldLease(const HeldLease&) = delete;
  HeldLease& operator=(const HeldLease&) = delete;

 private:
  Services& services_;
  state::ClusterId cluster_;
  Lease lease_;
};

}  // namespace

std::string own_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
}

struct Lease::Renewal {
  std::unique_ptr<ssh::Client> client{};
  launcher::HeadNode head;
  agent::LeaseRequest options;
  Cancel cancel{};
  std::optional<PeriodicThread> thread{};  ///< The last member: the thread uses all others.

  void renew() {
    try {
      head.take_lease(options, cancel);
    } catch (const std::exception&) {
      // Ignored: the node may be shutting down, or the next renewal is still in time.
    }
  }
};

Lease::Lease(Services& services, ssh::Host host, const LeaseOptions& options) {
  const std::string mark = services.owner(options.provider).mark();
  agent::LeaseRequest asked{
      .holder = mark,
      .who = login_name() + "@" + own_host_name() + ", process " + std::to_string(::getpid()),
      .duration = kDuration,
      .takes_over = options.takes_over,
      .breaks = options.breaks};
  auto client = services.another_ssh();
  launcher::HeadNode head(*client, std::move(host), services.agent(), kNodeTimeout);
  const auto until = std::chrono::steady_clock::now() + options.timeout;
  for (;;) {
    const agent::LeaseAnswer answer = head.take_lease(asked, services.cancel());
    if (answer.is_granted) {
      if (!answer.broken.empty()) services.messages().warn(broken_text(answer));
      break;
    }
    const bool is_anothers = !answer.book.owner.empty() && answer.book.owner != mark;
    if ((is_anothers && !options.takes_over) || std::chrono::steady_clock::now() >= until)
      throw refusal(options, answer, mark);
    services.clock().sleep(kBetweenAttempts);
    services.cancel().check();
  }
  asked.breaks = false;  // If another state directory breaks our lease in turn, the renewals must
                         // not break its lease.
  renewal_ = std::unique_ptr<Renewal>(
      new Renewal{.client = std::move(client), .head = std::move(head), .options = asked});
  renewal_->thread.emplace(kRenewAfter, [this] { renewal_->renew(); });
}

Lease::~Lease() {
  renewal_->cancel.request();
  renewal_->thread.reset();
  if (is_abandoned_) return;
  try {
    renewal_->head.drop_lease(renewal_->options.holder, Cancel());
  } catch (const std::exception&) {
    return;  // The lease runs out by itself.
  }
}

std::shared_ptr<void> lease_for(Services& services, const provision::Tools& tools,
                                const state::Cluster& cluster) {
  if (!provision::is_cloud(cluster.provider)) return nullptr;
  const std::vector<state::Node> nodes = services.store().nodes(cluster.id);
  const state::Node* head = head_in(nodes);
  if (head == nullptr || !is_published(services, cluster.id)) return nullptr;
  const ssh::Host host = to_host(services.store(), cluster, *head);
  try {
    return std::make_shared<HeldLease>(
        services, cluster, host,
        LeaseOptions{cluster.name.value, cluster.provider, tools.lock_timeout, false});
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::conflict) throw;
    services.cancel().check();
    services.messages().warn(
        std::string(e.what()) +
        ": continuing without the cluster's lease; only the marks of its machines are known");
    return nullptr;
  }
}

}  // namespace fastgpu::cli
