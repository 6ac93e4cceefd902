// Takes a request to the face of its vendor, and lets go wrong on the way what is ordered to.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cloudsim/books.hpp"
#include "cloudsim/face.hpp"
#include "cloudsim/faults.hpp"
#include "cloudsim/throttle.hpp"

namespace fastgpu::cloudsim {

/// All that there is, under one lock.
struct Simulation {
  explicit Simulation(World w) : world(std::move(w)) {}
  std::mutex lock;
  World world;
  Books books;
  Faults faults;
  Throttle throttle;
  milliseconds latency{0};
  std::string metadata{};  ///< Where instances read of themselves; empty: nowhere.
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
