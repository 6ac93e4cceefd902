// The JSON of a cluster's scheduler, which is beside the provider's part of the request.
#include "base/json.hpp"
#include "base/names.hpp"
#include "state/part_json.hpp"
#include "state/words.hpp"

namespace fastgpu::state {
namespace {

using nlohmann::json;

constexpr const char* kSchedulerKey = "scheduler";

}  // namespace

Scheduler scheduler_in(const std::string& text) try {
  if (text.empty()) return Scheduler::none;
  const json spec = parse_json(text, "the cluster's scheduler on record", ErrorKind::local);
  if (!spec.is_object() || !spec.contains(kSchedulerKey)) return Scheduler::none;
  return parse_scheduler(spec.at(kSchedulerKey).get<std::string>());
} catch (const json::exception& e) {
  throw Error(ErrorKind::local,
              std::string("the cluster's scheduler on record is broken: ") + e.what());
}

void put(json& object, Scheduler scheduler) {
  object.erase(kSchedulerKey);
  if (scheduler != Scheduler::none) object[kSchedulerKey] = to_string(scheduler);
}

}  // namespace fastgpu::state
