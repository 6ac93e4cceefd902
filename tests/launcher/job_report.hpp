// The ends of ranks and jobs for tests of their outcome.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "launcher/job_outcome.hpp"

namespace fastgpu::test {

inline agent::RankEnd rank_end(int number, int code, int signal, std::int64_t ended, bool told) {
  agent::RankEnd end;
  end.rank = number;
  end.how = {.code = code, .signal = signal};
  end.ended = ended;
  end.told = told;
  return end;
}

inline agent::JobEnd job_end(int code, int signal = 0,
                             agent::StopCause cause = agent::StopCause::none) {
  agent::JobEnd end;
  end.how = {.code = code, .signal = signal};
  end.cause = cause;
  return end;
}

/// Two ranks on two nodes.
inline launcher::JobReport report_of(std::vector<agent::RankEnd> ranks,
                                     std::optional<agent::JobEnd> launcher) {
  launcher::JobReport seen;
  seen.placement = {{{"demo-0"}, 0, 1}, {{"demo-1"}, 1, 1}};
  seen.ranks = std::move(ranks);
  seen.launcher = std::move(launcher);
  seen.timeout = std::chrono::minutes(10);
  seen.lease = std::chrono::seconds(30);
  return seen;
}

}  // namespace fastgpu::test
