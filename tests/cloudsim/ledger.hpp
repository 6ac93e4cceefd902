// Records of what has happened, for the tests.
#pragma once

#include <string>
#include <vector>

#include "cloudsim/world/times.hpp"
#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

struct CallRecord {
  Time at;
  std::string vendor, account, region, service, action;
  int status = 0;
  std::string code;  ///< The code of the error; empty after a success.
};

struct Ledger {
  std::vector<CallRecord> calls;
  std::vector<std::string> violations;
};

/// Returns all instances and resources that ever existed, with their costs.
Json books_of(const SimulatedWorld& world);

/// Returns {"total": n, "counts": {"aws": {"RunInstances": n}}, "calls": [in order]}.
Json calls_of(const Ledger& books);

std::string_view state_name(State state);

}  // namespace fastgpu::cloudsim
