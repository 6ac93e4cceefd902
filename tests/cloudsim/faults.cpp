#include "cloudsim/faults.hpp"

#include <array>

#include "base/error.hpp"

namespace fastgpu::cloudsim {
namespace {

FaultKind kind_of(const std::string& name) {
  static const std::map<std::string, FaultKind> kinds = {
      {"delay", FaultKind::delay},
      {"status", FaultKind::status},
      {"reset_before", FaultKind::reset_before},
      {"reset_after", FaultKind::reset_after},
      {"half_body", FaultKind::half_body},
      {"content_type", FaultKind::content_type},
      {"error_in_200", FaultKind::error_in_200},
      {"slow_drip", FaultKind::slow_drip},
      {"garbage", FaultKind::garbage},
  };
  const auto found = kinds.find(name);
  if (found == kinds.end())
    throw Error(ErrorKind::usage, "there is no fault of the kind '" + name + "'");
  return found->second;
}

Fault fault_of(const Json& json) {
  Fault fault;
  fault.kind = kind_of(json.at("kind"));
  fault.status = json.value("status", 503);
  if (json.contains("retry_after")) fault.retry_after = json.at("retry_after").get<int>();
  fault.code = json.value("code", "");
  fault.text = json.value("text", "text/html");
  fault.pause = std::chrono::milliseconds(json.value("milliseconds", 0));
  return fault;
}

}  // namespace

void Faults::add(const Json& list) {
  for (const Json& entry : list) {
    const Json match = entry.value("match", Json::object());
    rules_.push_back(Rule{.vendor = match.value("vendor", ""),
                          .region = match.value("region", ""),
                          .action = match.value("action", ""),
                          .skip = match.value("nth", 1) - 1,
                          .left = match.value("count", 1),
                          .fault = fault_of(entry.at("fault"))});
  }
}

std::optional<Fault> Faults::meet(const std::string& vendor, const std::string& region,
                                  const std::string& action) {
  std::optional<Fault> met;
  for (Rule& rule : rules_) {
    if (!rule.vendor.empty() && rule.vendor != vendor) continue;
    if (!rule.region.empty() && rule.region != region) continue;
    if (!rule.action.empty() && rule.action != action) continue;
    if (rule.skip > 0) {
      --rule.skip;
    } else if (rule.left > 0 && !met) {
      --rule.left;
      met = rule.fault;
    }
  }
  return met;
}

}  // namespace fastgpu::cloudsim
