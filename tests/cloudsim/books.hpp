// What happened, written down for the tests to read.
#pragma once

#include <string>
#include <vector>

#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

struct CallRecord {
  Time at;
  std::string vendor, account, region, service, action;
  int status = 0;
  std::string code;  ///< Of the error; empty where there was none.
};

struct Books {
  std::vector<CallRecord> calls;
  std::vector<std::string> violations;
};

/// Every instance and resource there ever was, with what it costs.
Json books_of(const World& world);

/// {"total": n, "counts": {"aws": {"RunInstances": n}}, "calls": [in order]}
Json calls_of(const Books& books);

std::string iso_time(Time time);  ///< "2026-11-21T22:00:00Z"
std::string_view state_name(State state);

}  // namespace fastgpu::cloudsim
