// The C ABI: steps of which only some are exchanged.
#include "comm/multistep/multistep.hpp"

#include <memory>
#include <string>
#include <utility>

#include "comm/c_api/arguments.hpp"
#include "comm/c_api/exception_border.hpp"
#include "comm/c_api/gradient_info.hpp"
#include "comm/c_api/handles.hpp"
#include "comm/c_api/outcome.hpp"
#include "comm/gossip/gossip_settings.hpp"

namespace comm = fastgpu::comm;
using comm::c_api::guarded;
using comm::c_api::need;
using comm::c_api::refuse;

struct fgc_multistep final {
  fgc_multistep(std::shared_ptr<comm::Communicator> ranks, const comm::MultistepSettings& mode,
                comm::GradientSettings settings)
      : communicator(std::move(ranks)),
        steps(*communicator, mode, std::move(settings), &warnings) {}

  std::shared_ptr<comm::Communicator> communicator;  ///< Shared with the job's other handles.
  comm::c_api::Warnings warnings{};
  comm::Multistep steps;
};

namespace {

comm::Multistep& steps_of(fgc_multistep* multistep) {
  fgc_multistep& handle = need(multistep, "the handle of multistep training");
  handle.communicator->check_forked();
  return handle.steps;
}

constexpr const char* kModeSetting = "FASTGPU_COMM_MULTISTEP";

comm::MultistepSettings mode_of(const char* mode, const comm::Environment& environment) {
  if (mode != nullptr) return comm::multistep_settings(mode);
  if (const auto set = comm::multistep_settings_of(environment)) return *set;
  refuse(
      "there is no mode of multistep training: give one, or set FASTGPU_COMM_MULTISTEP "
      "(local_steps=8)");
}

template <class End>
fgc_status end_step(fgc_multistep* multistep, fgc_multistep_outcome* outcome, End end) {
  return guarded([&] {
    comm::Multistep& steps = steps_of(multistep);
    if (outcome != nullptr) comm::c_api::write_struct(*outcome, fgc_multistep_outcome{});
    const comm::MultistepOutcome known = end(steps);
    fgc_multistep_outcome all{};
    all.round = known.round;
    all.is_round_end = known.is_round_end ? 1 : 0;
    all.has_results = known.has_results ? 1 : 0;
    all.is_over = known.is_over ? 1 : 0;
    if (outcome != nullptr) comm::c_api::write_struct(*outcome, all);
  });
}

}  // namespace

fgc_status fgc_multistep_create(fgc_comm* comm, const char* mode, const char* const* settings,
                                fgc_multistep** multistep) {
  return guarded([&] {
    need(multistep, "the place for multistep training") = nullptr;
    const fgc_comm& ranks = need(comm, "the communicator");
    const auto environment = comm::c_api::environment_of_exchange(ranks.environment, settings,
                                                                  comm::ExchangeKind::multistep);
    if (mode != nullptr && environment(kModeSetting) != ranks.environment(kModeSetting))
      refuse(std::string(kModeSetting) + " has no effect where the program names a mode");
    comm::check_wishes_no_gossip(environment);
    *multistep = new fgc_multistep(ranks.communicator, mode_of(mode, environment),
                                   comm::gradient_settings(environment));
  });
}

void fgc_multistep_free(fgc_multistep* multistep) {
  if (multistep == nullptr || multistep->communicator->is_forked()) return;
  delete multistep;
}

int fgc_multistep_takes_gradients(const fgc_multistep* multistep) {
  if (multistep == nullptr) return -1;
  return comm::averages_gradients(multistep->steps.mode().mode) ? 1 : 0;
}

fgc_status fgc_multistep_add(fgc_multistep* multistep, const fgc_gradient* tensor, size_t* id) {
  return guarded([&] {
    const fgc_gradient given = comm::c_api::read_struct(need(tensor, "the tensor"));
    comm::GradientInfo info = comm::c_api::gradient_info_of(given);
    if (given.memory != FGC_HOST)
      refuse("'" + info.name + "': multistep training has memory of the host alone (FGC_HOST)");
    const std::size_t elements = comm::elements_of(info);
    if (elements > 0 && given.data == nullptr) refuse("the tensor's data is NULL");
    const std::span<std::byte> values = comm::c_api::elements_at(given.data, elements, given.type);
    const std::size_t added = steps_of(multistep).add(std::move(info), values);
    if (id != nullptr) *id = added;
  });
}

fgc_status fgc_multistep_begin(fgc_multistep* multistep) {
  return guarded([&] { steps_of(multistep).begin(); });
}

fgc_status fgc_multistep_weigh(fgc_multistep* multistep, double weight) {
  return guarded([&] { steps_of(multistep).weigh(weight); });
}

fgc_status fgc_multistep_ready(fgc_multistep* multistep, size_t id) {
  return guarded([&] { steps_of(multistep).ready(id); });
}

fgc_status fgc_multistep_step(fgc_multistep* multistep, fgc_multistep_outcome* outcome) {
  return end_step(multistep, outcome, [](comm::Multistep& steps) { return steps.step(); });
}

fgc_status fgc_multistep_leave_out(fgc_multistep* multistep, fgc_multistep_outcome* outcome) {
  return end_step(multistep, outcome, [](comm::Multistep& steps) { return steps.leave_out(); });
}

int fgc_multistep_skips_non_finite(const fgc_multistep* multistep) {
  if (multistep == nullptr) return -1;
  return multistep->steps.skips_non_finite() ? 1 : 0;
}

fgc_status fgc_multistep_finish(fgc_multistep* multistep, fgc_multistep_outcome* outcome) {
  return end_step(multistep, outcome, [](comm::Multistep& steps) { return steps.finish(); });
}

fgc_status fgc_multistep_counters(fgc_multistep* multistep, fgc_counters* counters) {
  return guarded([&] { comm::c_api::write_counters(steps_of(multistep).counters(), counters); });
}

fgc_status fgc_multistep_save(fgc_multistep* multistep, void* state, size_t room, size_t* bytes) {
  return comm::c_api::saved([&]() -> comm::Multistep& { return steps_of(multistep); }, state, room,
                            bytes);
}

fgc_status fgc_multistep_load(fgc_multistep* multistep, const void* state, size_t bytes) {
  return guarded([&] {
    const auto* const begin = static_cast<const std::byte*>(state);
    need(begin, "the state");
    steps_of(multistep).load_state({begin, bytes});
  });
}

fgc_status fgc_multistep_on_warning(fgc_multistep* multistep, fgc_warning_handler handler,
                                    void* user) {
  return guarded(
      [&] { need(multistep, "the handle of multistep training").warnings.set(handler, user); });
}
