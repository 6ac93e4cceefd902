// Passes each request to the face of its vendor, and applies the faults that a test has ordered.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cloudsim/face.hpp"
#include "cloudsim/faults.hpp"
#include "cloudsim/ledger.hpp"
#include "cloudsim/throttle.hpp"

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
  Dispatcher(Simulation& simulation, std::vector<std::unique_ptr<Face>> faces)
      : simulation_(simulation), faces_(std::move(faces)) {}

  Reply handle(const Request& request);

 private:
  Face* face_of(const Request& request) const;
  Reply answer(Face& face, const Call& call, const std::optional<Fault>& fault);
  Reply act(Face& face, const Call& call);

  Simulation& simulation_;
  std::vector<std::unique_ptr<Face>> faces_;
};

}  // namespace fastgpu::cloudsim
