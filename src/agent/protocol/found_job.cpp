#include "agent/protocol/found_job.hpp"

#include "agent/protocol/records.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {

std::string to_text(const FoundJob& job) {
  Records records;
  records.add("ranks", Records(to_text(job.ranks), "job plan"));
  records.add("restarts", job.restarts);
  records.add("head", job.is_head ? 1 : 0);
  records.add("lease", job.has_lease ? 1 : 0);
  records.add("plain", job.is_plain ? 1 : 0);
  records.add("timeout", job.timeout.count());
  return records.text();
}

FoundJob parse_found_job(std::string_view text) {
  const std::string what = "the job of a node";
  const Records records(text, what);
  const auto plans = records.nested("ranks", what);
  if (plans.size() != 1) throw Error(ErrorKind::remote, what + ": it has no plan for ranks");
  return {.ranks = parse_plan(plans.front().text()),
          .restarts = static_cast<int>(records.number("restarts")),
          .is_head = records.number("head") != 0,
          .has_lease = records.number("lease") != 0,
          .is_plain = records.number("plain") != 0,
          .timeout = std::chrono::milliseconds(records.number("timeout"))};
}

}  // namespace fastgpu::agent
