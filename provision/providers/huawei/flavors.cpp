#include "provision/providers/huawei/flavors.hpp"

#include <algorithm>
#include <map>

#include "base/ascii.hpp"
#include "base/split.hpp"
#include "http/urls.hpp"
#include "provision/cloud/catalogue.hpp"

namespace fastgpu::provision::huawei {
namespace {

using cloud::Answer;
using cloud::InstanceType;
using cloud::Stock;
using nlohmann::json;

/// Splits a text at every character except letters and digits.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (is_ascii_letter_or_digit(c))
      words.back() += c;
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

/// Returns true for "V100", "A100", "T4", "L40S": one or two letters, then digits.
bool is_model(const std::string& word) {
  const auto digit = std::ranges::find_if(word, is_ascii_digit);
  return digit != word.begin() && digit != word.end() && digit - word.begin() <= 2;
}

/// Reads the number and the name of devices from "info:gpus" or a similar member, which has a list
/// as text.
void read_devices(const Answer& specs, const char* key, InstanceType& type) {
  const std::string text = specs[key].text();
  const auto devices = cloud::JsonAnswer::parse(text);
  for (const Answer& device : devices.root().items()) {
    const std::string name = gpu_name(device["name"].text());
    const int count = std::clamp(device["count"].whole(), 0, 1024);
    if (name.empty() || count == 0) continue;
    type.gpu = name;
    type.gpus = count;
    if (const int memory = device["memory_mb"].whole(); memory > 0)
      type.gpu_memory_gib = memory / 1024;
  }
}

/// Reads "nvidia-a30:1", if no other member had the devices.
void read_alias(const std::string& alias, InstanceType& type) {
  const auto colon = alias.find(':');
  if (type.gpus > 0 || colon == std::string::npos) return;
  const std::string name = gpu_name(alias.substr(0, colon));
  const int count = Answer(json(alias.substr(colon + 1))).whole();
  if (name.empty() || count <= 0 || count > 1024) return;
  type.gpu = name;
  type.gpus = count;
}

/// Reads "az1(normal), az2(sellout)": the conditions by zone.
std::map<std::string, std::string> conditions(const std::string& text) {
  std::map<std::string, std::string> by_zone;
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view entry = trimmed(rest.substr(0, comma));
    const auto open = entry.find('(');
    if (open != std::string_view::npos && entry.ends_with(')'))
      by_zone.emplace(entry.substr(0, open), entry.substr(open + 1, entry.size() - open - 2));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return by_zone;
}

struct ConditionKeys {
  const char* zones;
  const char* region;
  const char* otherwise;  ///< The condition of a flavor without any word about it.
};

ConditionKeys keys_of(cloud::Market market) {
  if (market == cloud::Market::spot)
    return {"cond:spot:operation:az", "cond:spot:operation:status", "abandon"};
  return {"cond:operation:az", "cond:operation:status", "normal"};
}

}  // namespace

std::string gpu_name(std::string_view text) {
  const auto words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string lower = ascii_lower(words[i]);
    if (lower.starts_with("ascend")) {
      std::string model = lower.substr(6);
      if (model.empty() && i + 1 < words.size()) model = words[i + 1];
      return "Ascend" + model;
    }
    if (!is_model(words[i])) continue;
    return ascii_upper(words[i]);
  }
  return {};
}

InstanceType type_of(const Answer& flavor) {
  InstanceType type{.name = flavor["id"].text()};
  for (const cloud::CatalogueRow& row : cloud::catalogue())
    if (row.cloud == "huawei" && row.type == type.name)
      type = cloud::known_types("huawei", {.type = type.name}).front();
  const Answer specs = flavor["os_extra_specs"];
  if (const int cores = flavor["vcpus"].whole(); cores > 0) type.cores = cores;
  if (const int memory = flavor["ram"].whole(); memory > 0) type.memory_gib = memory / 1024.0;
  InstanceType told;
  read_devices(specs, "info:gpus", told);
  read_devices(specs, "info:asic_accelerators", told);
  read_alias(specs["pci_passthrough:alias"].text(), told);
  if (told.gpus > 0) {
    // If the answer lacks the memory of the GPUs, a known type keeps the catalogue's value.
    if (told.gpu_memory_gib > 0 || told.gpu != type.gpu) type.gpu_memory_gib = told.gpu_memory_gib;
    type.gpu = told.gpu;
    type.gpus = told.gpus;
  }
  if (const int rate = specs["quota:max_rate"].whole(); rate > 0) type.network_gbit = rate / 1000.0;
  if (specs["ecs:instance_architecture"].text().starts_with("arm")) type.architecture = "arm64";
  return type;
}

std::vector<std::string> named_zones(const Answer& flavor) {
  std::vector<std::string> zones;
  for (const auto& [zone, condition] :
       conditions(flavor["os_extra_specs"]["cond:operation:az"].text()))
    zones.push_back(zone);
  return zones;
}

std::optional<Stock> stock_of(const Answer& flavor, const std::string& zone, cloud::Market market) {
  const ConditionKeys keys = keys_of(market);
  const Answer specs = flavor["os_extra_specs"];
  const auto by_zone = conditions(specs[keys.zones].text());
  std::string condition = specs[keys.region].text();
  if (const auto own = by_zone.find(zone); own != by_zone.end()) condition = own->second;
  if (condition.empty()) condition = keys.otherwise;
  if (condition == "abandon") return std::nullopt;
  return condition == "sellout" ? Stock::none : Stock::unknown;
}

}  // namespace fastgpu::provision::huawei
