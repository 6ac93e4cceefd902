// The gradients of one model as a class; fastgpu_comm.hpp includes this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "communicator.hpp"
#include "handles.hpp"

namespace fgc {

/// The place and type of a gradient in the fusion buffer.
struct View {
  void* data = nullptr;
  fgc_type type = FGC_FLOAT32;
};

class Gradients {
 public:
  explicit Gradients(const Communicator& comm, const Settings& settings = {}) {
    fgc_gradients* gradients = nullptr;
    check(fgc_gradients_create(comm.get(), list_of(settings).data(), &gradients));
    gradients_.reset(gradients);
  }

  /// Registers a gradient; `values` stay at their place: in the host's memory, or in that of a GPU.
  template <Values Data>
  std::size_t add(const std::string& name, Data&& values, int priority = 0,
                  fgc_memory memory = FGC_HOST) {
    const std::uint64_t count = std::ranges::size(values);
    fgc_gradient gradient{};
    gradient.name = name.c_str();
    gradient.data = std::ranges::data(values);
    gradient.shape = &count;
    gradient.dimensions = 1;
    gradient.type = kType<Data>;
    gradient.priority = priority;
    gradient.memory = memory;
    return add(gradient);
  }
  std::size_t add(fgc_gradient gradient) {
    std::size_t id = 0;
    gradient.struct_size = sizeof(gradient);
    check(fgc_gradient_add(get(), &gradient, &id));
    return id;
  }

  View view(std::size_t id) {
    View view;
    int type = 0;
    check(fgc_gradient_view(get(), id, &view.data, &type));
    view.type = static_cast<fgc_type>(type);
    return view;
  }
  fgc_type wire_type(std::size_t id) const {
    int type = 0;
    check(fgc_gradient_wire_type(get(), id, &type));
    return static_cast<fgc_type>(type);
  }

  void use_op(fgc_op op) { check(fgc_gradients_use_op(get(), op)); }
  void ready(std::size_t id) { check(fgc_gradient_ready(get(), id)); }
  void ready_at(std::size_t id, void* data) { check(fgc_gradient_ready_at(get(), id, data)); }
  void ready(std::size_t id, void* stream) { check(fgc_device_gradient_ready(get(), id, stream)); }

  fgc_outcome wait() { return ended(fgc_gradients_wait); }
  fgc_outcome wait(void* stream) {
    return ended([stream](fgc_gradients* gradients, fgc_outcome* outcome) {
      return fgc_device_gradients_wait(gradients, stream, outcome);
    });
  }
  fgc_outcome leave() { return ended(fgc_gradients_leave); }

  fgc_counters counters() const { return filled_by<fgc_counters>(fgc_gradients_counters, get()); }

  /// Returns the order of gradients and what codecs of this rank remember, for a file: see
  /// fgc_gradients_save.
  std::vector<std::byte> saved_state() const { return saved_by(fgc_gradients_save, get()); }
  void load_state(std::span<const std::byte> state) {
    check(fgc_gradients_load(get(), state.data(), state.size()));
  }

  /// Sets a handler for sentences about ranks that are late and gradients of this rank that are not
  /// finite, in place of stderr. It is called within the calls above; it makes none of them, and
  /// throws nothing.
  void on_warning(std::function<void(const char*)> handler) {
    handler_.set(fgc_gradients_on_warning, get(), std::move(handler));
  }

  fgc_gradients* get() const noexcept { return gradients_.get(); }

 private:
  template <class End>
  fgc_outcome ended(End end) {
    return filled_by<fgc_outcome>(end, get());
  }

  WarningHandler handler_;  ///< Outlives `gradients_`, which knows its address.
  std::unique_ptr<fgc_gradients, Release<fgc_gradients_free>> gradients_;
};

}  // namespace fgc
