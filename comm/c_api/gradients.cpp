// The C ABI: gradients of one model.
#include <cstdio>
#include <cstring>
#include <utility>

#include "comm/c_api/arguments.hpp"
#include "comm/c_api/guard.hpp"
#include "comm/c_api/handles.hpp"
#include "comm/c_api/make_device.hpp"
#include "comm/c_api/outcome.hpp"
#include "comm/gossip/settings.hpp"

namespace comm = fastgpu::comm;
using comm::c_api::guarded;
using comm::c_api::need;
using comm::c_api::refuse;

namespace {

constexpr std::size_t kMostDimensions = 255;

comm::GradientExchange& exchange_of(fgc_gradients* gradients) {
  fgc_gradients& handle = need(gradients, "the gradients' handle");
  handle.communicator->check_forked();
  return handle.exchange;
}

comm::GradientInfo info_of(const fgc_gradient& given) {
  if (given.dimensions > kMostDimensions)
    refuse("a gradient with " + std::to_string(given.dimensions) + " dimensions: 255 are the most");
  if (given.dimensions > 0) need(given.shape, "the gradient's shape");
  return {.name = &need(given.name, "the gradient's name"),
          .type = comm::c_api::type_of(given.type),
          .shape = {given.shape, given.shape + given.dimensions},
          .priority = given.priority};
}

/// Null for the host.
std::shared_ptr<comm::gpu::Device> device_of(fgc_gradients& gradients, const fgc_gradient& given) {
  switch (given.memory) {
    case FGC_HOST:
      return nullptr;
    case FGC_DEVICE:
      if (!gradients.device) gradients.device = comm::c_api::make_device();
      return gradients.device;
    default:
      refuse("there is no fgc_memory " + std::to_string(given.memory));
  }
}

}  // namespace

fgc_status fgc_gradients_create(fgc_comm* comm, const char* const* settings,
                                fgc_gradients** gradients) {
  return guarded([&] {
    need(gradients, "the place for the gradients") = nullptr;
    const fgc_comm& ranks = need(comm, "the communicator");
    const auto environment = comm::c_api::environment_with(ranks.environment, settings);
    comm::check_wishes_no_gossip(environment);
    *gradients = new fgc_gradients(ranks.communicator, comm::gradient_settings(environment));
  });
}

void fastgpu::comm::c_api::tell_on_stderr(const char* sentence, void*) {
  std::fprintf(stderr, "fastgpu_comm: %s\n", sentence);
}

void fgc_gradients_free(fgc_gradients* gradients) {
  if (gradients == nullptr || gradients->communicator->is_forked()) return;
  delete gradients;
}

fgc_status fgc_gradient_add(fgc_gradients* gradients, const fgc_gradient* gradient, size_t* id) {
  return guarded([&] {
    const fgc_gradient given = comm::c_api::read_struct(need(gradient, "the gradient"));
    comm::GradientInfo info = info_of(given);
    std::span<std::byte> values;
    if (given.data != nullptr)
      values = comm::c_api::elements_at(given.data, comm::elements_of(info), given.type);
    const comm::GradientId added =
        exchange_of(gradients).add(std::move(info), values, device_of(*gradients, given));
    if (id != nullptr) *id = added.value;
  });
}

fgc_status fgc_gradient_wire_type(fgc_gradients* gradients, size_t id, int* type) {
  return guarded([&] {
    need(type, "the place for the type") = 0;
    *type = static_cast<int>(exchange_of(gradients).wire_type({id}));
  });
}

fgc_status fgc_gradients_use_op(fgc_gradients* gradients, int op) {
  return guarded([&] { exchange_of(gradients).use_operation(comm::c_api::op_of(op)); });
}

fgc_status fgc_gradient_view(fgc_gradients* gradients, size_t id, void** view, int* type) {
  return guarded([&] {
    need(view, "the place for the view") = nullptr;
    need(type, "the place for the type") = 0;
    comm::GradientExchange& exchange = exchange_of(gradients);
    *view = exchange.view({id}).data();
    *type = static_cast<int>(exchange.wire_type({id}));
  });
}

fgc_status fgc_gradient_ready(fgc_gradients* gradients, size_t id) {
  return guarded([&] { exchange_of(gradients).ready({id}); });
}

fgc_status fgc_gradients_wait(fgc_gradients* gradients, fgc_outcome* outcome) {
  return comm::c_api::ended(gradients, outcome,
                            [](comm::GradientExchange& exchange) { return exchange.wait_step(); });
}

fgc_status fgc_gradients_leave(fgc_gradients* gradients, fgc_outcome* outcome) {
  return comm::c_api::ended(gradients, outcome,
                            [](comm::GradientExchange& exchange) { return exchange.leave(); });
}

fgc_status fgc_gradients_counters(fgc_gradients* gradients, fgc_counters* counters) {
  return guarded([&] {
    const comm::GradientCounters known = exchange_of(gradients).counters();
    fgc_counters all{};
    all.steps = known.steps;
    all.steps_without_results = known.steps_without_results;
    all.buckets = known.buckets;
    all.bucket_bytes = known.bucket_bytes;
    all.negotiation_messages = known.negotiation_messages;
    all.negotiation_bytes = known.negotiation_bytes;
    all.late_ranks = known.late_ranks;
    all.ready_seconds = known.ready_seconds;
    all.unpack_seconds = known.unpack_seconds;
    all.wait_seconds = known.wait_seconds;
    comm::c_api::write_struct(need(counters, "the place for the counters"), all);
  });
}

fgc_status fgc_gradients_save(fgc_gradients* gradients, void* state, size_t room, size_t* bytes) {
  return guarded([&] {
    need(bytes, "the place for the length of the state") = 0;
    const std::vector<std::byte> saved = exchange_of(gradients).saved_state();
    *bytes = saved.size();
    if (state == nullptr || saved.empty()) return;
    if (room < saved.size())
      refuse("the state has " + std::to_string(saved.size()) + " bytes, and there is room for " +
             std::to_string(room));
    std::memcpy(state, saved.data(), saved.size());
  });
}

fgc_status fgc_gradients_load(fgc_gradients* gradients, const void* state, size_t bytes) {
  return guarded([&] {
    const auto* const begin = static_cast<const std::byte*>(state);
    if (bytes > 0) need(begin, "the state");
    exchange_of(gradients).load_state({begin, bytes});
  });
}

fgc_status fgc_gradients_on_warning(fgc_gradients* gradients, fgc_warning_handler handler,
                                    void* user) {
  return guarded([&] {
    fgc_gradients& handle = need(gradients, "the gradients' handle");
    handle.handler = handler;
    handle.user = user;
  });
}
