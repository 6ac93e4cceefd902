// Passes each request to the api of its vendor, and applies the faults that a test has ordered.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cloudsim/faults.hpp"
#include "cloudsim/ledger.hpp"
#include "cloudsim/throttle.hpp"
#include "cloudsim/vendor_api.hpp"

namespace fastgpu::cloudsim {

/// The whole state, protected by one lock.
struct Simulation {
  explicit Simulation(SimulatedWorld w) : world(std::move(w)) {}
  std::mutex lock;
  SimulatedWorld world;
  Ledger books;
  Faults faults;
  Throttle throttle;
  milliseconds latency{0};
  /// The address of the metadata service for instances; empty if there is none.
  std::string metadata{};
};

class Dispatcher {
 public:
  Dispatcher(Simulation& simulation, std::vector<std::unique_ptr<VendorApi>> apis)
      : simulation_(simulation), apis_(std::move(apis)) {}

  Reply handle(const Request& request);

 private:
  VendorApi* api_of(const Request& request) const;
  Reply answer(VendorApi& api, const Call& call, const std::optional<Fault>& fault);
  Reply act(VendorApi& api, const Call& call);

  Simulation& simulation_;
  std::vector<std::unique_ptr<VendorApi>> apis_;
};

}  // namespace fastgpu::cloudsim
