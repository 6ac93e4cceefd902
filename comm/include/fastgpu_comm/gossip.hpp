// Parameters that are mixed with those of neighbours, as a class; fastgpu_comm.hpp includes this.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "communicator.hpp"
#include "handles.hpp"

namespace fgc {

class Gossip {
 public:
  explicit Gossip(const Communicator& comm, const Settings& settings = {}) {
    fgc_gossip* gossip = nullptr;
    check(fgc_gossip_create(comm.get(), list_of(settings).data(), &gossip));
    gossip_.reset(gossip);
  }

  /// Registers parameters, which stay at their place.
  void add(const std::string& name, std::span<float> values) {
    check(fgc_gossip_add(get(), name.c_str(), values.data(), values.size()));
  }

  /// Mixes: called after each local step of training. See fgc_gossip_step.
  fgc_gossip_report step() { return filled_by<fgc_gossip_report>(fgc_gossip_step, get()); }

  /// Returns what this rank remembers, for a file: see fgc_gossip_save.
  std::vector<std::byte> saved_state() const { return saved_by(fgc_gossip_save, get()); }
  void load_state(std::span<const std::byte> state) {
    check(fgc_gossip_load(get(), state.data(), state.size()));
  }

  /// Sets a handler for sentences about actions of the guard, in place of stderr. It is called
  /// within step(); it makes no calls, and throws nothing.
  void on_warning(std::function<void(const char*)> handler) {
    handler_.set(fgc_gossip_on_warning, get(), std::move(handler));
  }

  fgc_gossip* get() const noexcept { return gossip_.get(); }

 private:
  WarningHandler handler_;  ///< Outlives `gossip_`, which knows its address.
  std::unique_ptr<fgc_gossip, Release<fgc_gossip_free>> gossip_;
};

}  // namespace fgc
