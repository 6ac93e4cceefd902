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
  fgc_gossip_report step() {
    fgc_gossip_report report{};
    report.struct_size = sizeof(report);
    check(fgc_gossip_step(get(), &report));
    return report;
  }

  /// Returns what this rank remembers, for a file: see fgc_gossip_save.
  std::vector<std::byte> saved_state() const {
    std::size_t bytes = 0;
    check(fgc_gossip_save(get(), nullptr, 0, &bytes));
    std::vector<std::byte> state(bytes);
    check(fgc_gossip_save(get(), state.data(), state.size(), &bytes));
    return state;
  }
  void load_state(std::span<const std::byte> state) {
    check(fgc_gossip_load(get(), state.data(), state.size()));
  }

  /// Sets a handler for sentences about actions of the guard, in place of stderr. It is called
  /// within step(); it makes no calls, and throws nothing.
  void on_warning(std::function<void(const char*)> handler) {
    auto kept = std::make_unique<std::function<void(const char*)>>(std::move(handler));
    check(fgc_gossip_on_warning(
        get(),
        [](const char* sentence, void* user) {
          (*static_cast<std::function<void(const char*)>*>(user))(sentence);
        },
        kept.get()));
    handler_ = std::move(kept);
  }

  fgc_gossip* get() const noexcept { return gossip_.get(); }

 private:
  std::unique_ptr<std::function<void(const char*)>>
      handler_;  ///< At an address that `gossip_` knows.
  std::unique_ptr<fgc_gossip, Release<fgc_gossip_free>> gossip_;
};

}  // namespace fgc
