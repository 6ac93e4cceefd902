// The C ABI: gradients of one model.
#include <cstdio>
#include <utility>

#include "comm/c_api/arguments.hpp"
#include "comm/c_api/exception_border.hpp"
#include "comm/c_api/gradient_info.hpp"
#include "comm/c_api/handles.hpp"
#include "comm/c_api/make_device.hpp"
#include "comm/c_api/outcome.hpp"
#include "comm/gossip/gossip_settings.hpp"

namespace comm = fastgpu::comm;
using comm::c_api::guarded;
using comm::c_api::need;
using comm::c_api::refuse;

namespace {

comm::GradientExchange& exchange_of(fgc_gradients* gradients) {
  fgc_gradients& handle = need(gradients, "the gradients' handle");
  handle.communicator->check_forked();
  return handle.exchange;
}

/// Null for the host.
std::shared_ptr<comm::gpu::Device> device_of(fgc_gradients& gradients, const fgc_gradient& given) {
  switch (given.memory) {
    case FGC_HOST:
      return nullptr;
    case FGC_DEVICE: {
      auto& device = gradients.devices[comm::c_api::current_device()];
      if (!device) device = comm::c_api::make_device();
      return device;
    }
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
    const auto environment = comm::c_api::environment_of_exchange(ranks.environment, settings,
                                                                  comm::ExchangeKind::gradients);
    comm::check_wishes_no_gossip(environment);
    *gradients = new fgc_gradients(ranks.communicator, comm::gradient_settings(environment));
  });
}

void fastgpu::comm::c_api::print_warning(const char* sentence, void*) {
  std::fprintf(stderr, "fastgpu_comm: %s\n", sentence);
}

void fgc_gradients_free(fgc_gradients* gradients) {
  if (gradients == nullptr || gradients->communicator->is_forked()) return;
  delete gradients;
}

fgc_status fgc_gradient_add(fgc_gradients* gradients, const fgc_gradient* gradient, size_t* id) {
  return guarded([&] {
    const fgc_gradient given = comm::c_api::read_struct(need(gradient, "the gradient"));
    comm::GradientInfo info = comm::c_api::gradient_info_of(given);
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

fgc_status fgc_gradient_ready_at(fgc_gradients* gradients, size_t id, void* data) {
  return guarded([&] {
    comm::GradientExchange& exchange = exchange_of(gradients);
    const comm::GradientInfo& info = exchange.info(comm::GradientId{id});
    exchange.ready_at(
        {id}, comm::c_api::elements_at(data, comm::elements_of(info), static_cast<int>(info.type)));
  });
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
  return guarded([&] { comm::c_api::write_counters(exchange_of(gradients).counters(), counters); });
}

fgc_status fgc_gradients_save(fgc_gradients* gradients, void* state, size_t room, size_t* bytes) {
  return comm::c_api::saved([&]() -> comm::GradientExchange& { return exchange_of(gradients); },
                            state, room, bytes);
}

fgc_status fgc_gradients_load(fgc_gradients* gradients, const void* state, size_t bytes) {
  return guarded([&] { exchange_of(gradients).load_state(comm::c_api::state_at(state, bytes)); });
}

fgc_status fgc_gradients_on_warning(fgc_gradients* gradients, fgc_warning_handler handler,
                                    void* user) {
  return guarded([&] { need(gradients, "the gradients' handle").warnings.set(handler, user); });
}
