#include "cli/commands/job/notice_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/contains.hpp"
#include "cli/workflows/reachable_hosts.hpp"
#include "launcher/guard_orders.hpp"

namespace fastgpu::cli {
namespace {

using launcher::JobEndCause;

/// The agent asks the cloud every five seconds. Clouds announce two minutes before.
constexpr std::chrono::seconds kBetweenQuestionsToNodes{5};
constexpr std::chrono::seconds kLookTimeout{10};

/// Returns the nodes on which the job has ranks.
std::vector<state::Node> nodes_of_job(const state::Store& store, const OpenJob& open) {
  std::vector<state::Node> nodes = store.nodes(open.cluster.id);
  std::erase_if(nodes, [&](const state::Node& node) {
    return !contains(open.record.placement, node.name, &launcher::NodeRanks::node);
  });
  return nodes;
}

}  // namespace

NoticeWatch::NoticeWatch(Services& services, const OpenJob& open)
    : client_(services.another_ssh()),
      engine_(
          engine_for(services, open.cluster, open.record, std::chrono::seconds(15), client_.get())),
      agent_(services.agent()),
      hosts_(reachable_hosts(services, open.cluster, nodes_of_job(services.store(), open))),
      run_(open.run()),
      record_(open.record),
      thread_(kBetweenQuestionsToNodes, [this] { look(); }) {}

NoticeWatch::~NoticeWatch() {
  ended_.request();
  thread_.stop();
}

std::vector<Notice> NoticeWatch::notices() const {
  const std::scoped_lock lock(mutex_);
  return notices_;
}

void NoticeWatch::look() noexcept try {
  if (!notices().empty()) return;
  std::vector<Notice> found;
  for (const auto& watch : launcher::watch_nodes(*client_, hosts_, agent_, ended_, kLookTimeout))
    if (watch.ok() && watch.value().taken_back != 0)
      found.push_back({watch.host, watch.value().taken_back, watch.value().at_risk});
  if (found.empty() || ended_.requested()) return;
  {
    const std::scoped_lock lock(mutex_);
    notices_ = std::move(found);
  }
  engine_->stop(run_, record_);
} catch (const std::exception&) {
  // The nodes are asked again, and a job that was not stopped ends with its machine.
}

std::unique_ptr<NoticeWatch> watch_for_notices(Services& services, const OpenJob& open) {
  const launcher::JobSpec& spec = open.record.spec;
  const bool is_started_again =
      open.record.restarts < spec.retries && contains(spec.retry_on, JobEndCause::preempted);
  if (!is_started_again || !is_spot(open.cluster)) return nullptr;
  return std::make_unique<NoticeWatch>(services, open);
}

launcher::JobOutcome outcome_after(const std::vector<Notice>& notices) {
  launcher::JobOutcome outcome{
      .state = state::JobState::lost,
      .exit_code = 1,
      .reason = text_of(notices.front()) + ", and the job was stopped before",
      .cause = JobEndCause::preempted};
  for (const Notice& notice : notices)
    outcome.lost.push_back(notice.node);
  return outcome;
}

}  // namespace fastgpu::cli
