// The C ABI: gossip of parameters.
#include "comm/gossip/gossip.hpp"

#include <memory>
#include <string>
#include <utility>

#include "comm/c_api/arguments.hpp"
#include "comm/c_api/exception_border.hpp"
#include "comm/c_api/handles.hpp"
#include "comm/c_api/outcome.hpp"

namespace comm = fastgpu::comm;
using comm::c_api::guarded;
using comm::c_api::need;

struct fgc_gossip final {
  fgc_gossip(std::shared_ptr<fastgpu::comm::Communicator> ranks,
             fastgpu::comm::GossipSettings settings)
      : communicator(std::move(ranks)), gossip(*communicator, std::move(settings), &warnings) {}

  std::shared_ptr<fastgpu::comm::Communicator> communicator;  ///< Shared with the job's handle.
  fastgpu::comm::c_api::Warnings warnings{};
  fastgpu::comm::Gossip gossip;
  std::string wire{};  ///< That of the last report.
};

namespace {

comm::Gossip& gossip_of(fgc_gossip* gossip) {
  fgc_gossip& handle = need(gossip, "the handle of gossip");
  handle.communicator->check_forked();
  return handle.gossip;
}

fgc_gossip_report report_of(fgc_gossip& handle, const comm::GossipReport& known) {
  handle.wire = comm::wire_of(known.rung);
  fgc_gossip_report report{};
  report.step = known.step;
  report.bytes = known.bytes;
  report.distance = known.distance;
  report.measured = known.measured;
  report.step_size = known.rung.step_size;
  report.wire = handle.wire.c_str();
  report.exact_every = known.rung.exact_every;
  report.is_exact = known.is_exact ? 1 : 0;
  report.guard_level = static_cast<std::int32_t>(known.guard_level);
  report.guard_action = static_cast<std::int32_t>(known.action);
  return report;
}

}  // namespace

fgc_status fgc_gossip_create(fgc_comm* comm, const char* const* settings, fgc_gossip** gossip) {
  return guarded([&] {
    need(gossip, "the place for gossip") = nullptr;
    const fgc_comm& ranks = need(comm, "the communicator");
    const auto environment = comm::c_api::environment_of_exchange(ranks.environment, settings,
                                                                  comm::ExchangeKind::gossip);
    *gossip = new fgc_gossip(ranks.communicator, comm::gossip_settings(environment));
  });
}

void fgc_gossip_free(fgc_gossip* gossip) {
  if (gossip == nullptr || gossip->communicator->is_forked()) return;
  delete gossip;
}

fgc_status fgc_gossip_add(fgc_gossip* gossip, const char* name, float* data, size_t count) {
  return guarded([&] {
    need(name, "the parameter's name");
    if (count > 0) need(data, "the parameter");
    gossip_of(gossip).add(name, {data, count});
  });
}

fgc_status fgc_gossip_step(fgc_gossip* gossip, fgc_gossip_report* report) {
  return guarded([&] {
    if (report != nullptr) comm::c_api::write_struct(*report, fgc_gossip_report{});
    const comm::GossipReport known = gossip_of(gossip).step();
    if (report != nullptr) comm::c_api::write_struct(*report, report_of(*gossip, known));
  });
}

fgc_status fgc_gossip_save(fgc_gossip* gossip, void* state, size_t room, size_t* bytes) {
  return comm::c_api::saved([&]() -> comm::Gossip& { return gossip_of(gossip); }, state, room,
                            bytes);
}

fgc_status fgc_gossip_load(fgc_gossip* gossip, const void* state, size_t bytes) {
  return guarded([&] { gossip_of(gossip).load_state(comm::c_api::state_at(state, bytes)); });
}

fgc_status fgc_gossip_on_warning(fgc_gossip* gossip, fgc_warning_handler handler, void* user) {
  return guarded([&] { need(gossip, "the handle of gossip").warnings.set(handler, user); });
}
