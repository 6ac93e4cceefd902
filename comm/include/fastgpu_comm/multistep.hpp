// Steps of which only some are exchanged, as a class; fastgpu_comm.hpp includes this.
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

/// The steps of a rank: see fastgpu_comm/multistep.h.
class Multistep {
 public:
  /// `mode` is such as "local_steps=8"; empty: that of FASTGPU_COMM_MULTISTEP.
  explicit Multistep(const Communicator& comm, const std::string& mode = "",
                     const Settings& settings = {}) {
    fgc_multistep* multistep = nullptr;
    check(fgc_multistep_create(comm.get(), mode.empty() ? nullptr : mode.c_str(),
                               list_of(settings).data(), &multistep));
    multistep_.reset(multistep);
  }

  /// Returns whether the mode averages gradients, not parameters.
  bool takes_gradients() const { return fgc_multistep_takes_gradients(get()) == 1; }

  /// Returns whether the program is to leave out steps with gradients that are not finite.
  bool skips_non_finite() const { return fgc_multistep_skips_non_finite(get()) == 1; }

  /// Adds a gradient or a parameter; `values` stay at their place.
  template <Values Data>
  std::size_t add(const std::string& name, Data&& values, int priority = 0) {
    const std::uint64_t count = std::ranges::size(values);
    fgc_gradient tensor{};
    tensor.name = name.c_str();
    tensor.data = std::ranges::data(values);
    tensor.shape = &count;
    tensor.dimensions = 1;
    tensor.type = kType<Data>;
    tensor.priority = priority;
    return add(tensor);
  }
  std::size_t add(fgc_gradient tensor) {
    std::size_t id = 0;
    tensor.struct_size = sizeof(tensor);
    check(fgc_multistep_add(get(), &tensor, &id));
    return id;
  }

  void begin() { check(fgc_multistep_begin(get())); }
  void ready(std::size_t id) { check(fgc_multistep_ready(get(), id)); }

  /// Ends a step, whose batch has that weight in the means.
  fgc_multistep_outcome step(double weight = 1) {
    if (weight != 1) weigh(weight);
    return ended(fgc_multistep_step);
  }
  /// Sets the weight of the next step, for gradients that are ready before it ends.
  void weigh(double weight) { check(fgc_multistep_weigh(get(), weight)); }
  /// Ends a step that does not count: see fastgpu_comm/multistep.h.
  fgc_multistep_outcome leave_out() { return ended(fgc_multistep_leave_out); }
  fgc_multistep_outcome finish() { return ended(fgc_multistep_finish); }

  fgc_counters counters() const { return filled_by<fgc_counters>(fgc_multistep_counters, get()); }

  std::vector<std::byte> saved_state() const { return saved_by(fgc_multistep_save, get()); }
  void load_state(std::span<const std::byte> state) {
    check(fgc_multistep_load(get(), state.data(), state.size()));
  }

  /// Sets a handler as Gradients::on_warning does.
  void on_warning(std::function<void(const char*)> handler) {
    handler_.set(fgc_multistep_on_warning, get(), std::move(handler));
  }

  fgc_multistep* get() const noexcept { return multistep_.get(); }

 private:
  template <class End>
  fgc_multistep_outcome ended(End end) {
    return filled_by<fgc_multistep_outcome>(end, get());
  }

  WarningHandler handler_;  ///< Outlives `multistep_`, which knows its address.
  std::unique_ptr<fgc_multistep, Release<fgc_multistep_free>> multistep_;
};

}  // namespace fgc
