// The C ABI: joining a job and leaving it, groups, memory.
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "comm/c_api/arguments.hpp"
#include "comm/c_api/exception_border.hpp"
#include "comm/c_api/handles.hpp"
#include "comm/c_api/outcome.hpp"
#include "comm/common/blame_note.hpp"
#include "comm/common/caused_error.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/common/variables.hpp"
#include "comm/common/version.hpp"
#include "comm/communicator/join.hpp"
#include "comm/gossip/gossip_settings.hpp"
#include "comm/gradients/gradient_settings.hpp"
#include "comm/kernels/kernels.hpp"
#include "comm/multistep/multistep_settings.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace comm = fastgpu::comm;
using comm::c_api::guarded;
using comm::c_api::need;

static_assert(comm::kLibraryVersion == FGC_VERSION, "the header's version is the library's");

namespace {

const std::vector<comm::Rank>& node_of(const comm::Communicator& communicator) {
  const comm::Topology& topology = communicator.topology();
  return topology.nodes[static_cast<std::size_t>(topology.node_of(communicator.rank()))];
}

/// Joins the job. Notes the rank for which that fails.
comm::Connections join_or_blame(const comm::JobPlace& place,
                                const std::function<void(comm::Rank)>& blame) try {
  return comm::join(place);
} catch (const comm::CausedError& e) {
  if (blame && e.culprit() && e.culprit()->value >= 0) blame(*e.culprit());
  throw;
}

}  // namespace

int fgc_version(void) {
  return FGC_VERSION;
}

const char* fgc_version_string(void) {
  return FASTGPU_VERSION;
}

const char* fgc_status_name(int status) {
  switch (status) {
    case FGC_OK:
      return "ok";
    case FGC_USAGE:
      return "usage";
    case FGC_DENIED:
      return "denied";
    case FGC_CAPACITY:
      return "capacity";
    case FGC_CONFLICT:
      return "conflict";
    case FGC_TIMEOUT:
      return "timeout";
    case FGC_REMOTE:
      return "remote";
    case FGC_LOCAL:
      return "local";
    case FGC_INTERNAL:
      return "internal";
    case FGC_INTERRUPTED:
      return "interrupted";
    default:
      return "unknown";
  }
}

const char* fgc_last_error(void) {
  return comm::c_api::last_sentence();
}

void fgc_on_wait(fgc_wait_check check, void* user) {
  comm::use_wait_check(check, user);
}

fgc_status fgc_init(const char* const* settings, fgc_comm** comm) {
  return guarded([&] {
    need(comm, "the place for the communicator") = nullptr;
    comm::check_variables(comm::process_variables());
    const auto environment = comm::c_api::environment_with(comm::process_environment(), settings,
                                                           comm::SettingPlace::job);
    comm::kernels();  // Reads FASTGPU_COMM_SIMD now, not in the first call that adds numbers.
    comm::gradient_settings(environment);  // Said now, not once gradients are created.
    comm::check_gossip_variables(environment);
    comm::multistep_settings_of(environment);
    const comm::JobPlace place = comm::job_place(environment);
    const auto blame = comm::blame_note(environment, place.rank, place.size);
    comm::Connections connections = join_or_blame(place, blame);
    connections.warn = [](const std::string& sentence) {
      comm::c_api::print_warning(sentence.c_str(), nullptr);
    };
    connections.blame = blame;
    if (!connections.network_report.empty()) connections.warn(connections.network_report);
    if (const auto doubt = comm::doubt_of_lone_rank(environment)) connections.warn(*doubt);
    *comm = new fgc_comm{std::make_shared<comm::Communicator>(std::move(connections)), environment};
  });
}

void fgc_comm_free(fgc_comm* comm) {
  if (comm == nullptr || comm->communicator->is_forked()) return;
  delete comm;
}

int fgc_rank(const fgc_comm* comm) {
  return comm == nullptr ? -1 : comm->communicator->rank().value;
}

int fgc_size(const fgc_comm* comm) {
  return comm == nullptr ? -1 : comm->communicator->size();
}

int fgc_local_rank(const fgc_comm* comm) {
  if (comm == nullptr) return -1;
  const auto& node = node_of(*comm->communicator);
  return static_cast<int>(std::ranges::find(node, comm->communicator->rank()) - node.begin());
}

int fgc_local_size(const fgc_comm* comm) {
  return comm == nullptr ? -1 : static_cast<int>(node_of(*comm->communicator).size());
}

int fgc_node_rank(const fgc_comm* comm) {
  if (comm == nullptr) return -1;
  return comm->communicator->topology().node_of(comm->communicator->rank());
}

int fgc_node_count(const fgc_comm* comm) {
  return comm == nullptr ? -1 : static_cast<int>(comm->communicator->topology().nodes.size());
}

fgc_status fgc_split(fgc_comm* comm, int color, int key, fgc_comm** group) {
  return guarded([&] {
    need(group, "the place for the group") = nullptr;
    auto made = need(comm, "the communicator").communicator->split(color, key);
    if (!made) return;
    *group =
        new fgc_comm{std::make_shared<comm::Communicator>(std::move(*made)), comm->environment};
  });
}

fgc_status fgc_blame(fgc_comm* comm, int rank) {
  return guarded([&] { need(comm, "the communicator").communicator->blame({rank}); });
}

fgc_status fgc_mem_alloc(fgc_comm* comm, size_t bytes, void** memory) {
  return guarded([&] {
    need(memory, "the place for the memory") = nullptr;
    *memory = need(comm, "the communicator").communicator->allocate(bytes).data();
  });
}

fgc_status fgc_mem_free(fgc_comm* comm, void* memory) {
  return guarded([&] {
    comm::Communicator& owner = *need(comm, "the communicator").communicator;
    if (memory != nullptr) owner.free({static_cast<std::byte*>(memory), 1});
  });
}

fgc_status fgc_link_counters(fgc_comm* comm, size_t index, fgc_link* link, size_t* count) {
  return guarded([&] {
    const auto links = need(comm, "the communicator").communicator->links();
    need(count, "the place for the number of links") = links.size();
    if (link != nullptr && index < links.size()) comm::c_api::write_link(links[index], *link);
  });
}

fgc_status fgc_use_flows(fgc_comm* comm, int flows) {
  return guarded([&] {
    if (flows < 1 || flows > comm::kMostFlows)
      comm::c_api::refuse("there cannot be " + std::to_string(flows) + " flows: 1 to " +
                          std::to_string(comm::kMostFlows));
    need(comm, "the communicator").communicator->use_flows(flows);
  });
}
