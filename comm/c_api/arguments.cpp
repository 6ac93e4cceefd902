#include "comm/c_api/arguments.hpp"

#include <cstdint>
#include <limits>
#include <map>

#include "comm/common/variables.hpp"

namespace fastgpu::comm::c_api {
namespace {

std::size_t bytes_of(const void* data, std::size_t count, int type, int blocks) {
  const std::size_t size = size_of(type_of(type));
  const std::size_t most =
      std::numeric_limits<std::size_t>::max() / size / static_cast<std::size_t>(blocks);
  if (count > most) refuse("a count of " + std::to_string(count) + " is too large");
  if (data == nullptr && count > 0) refuse("the data is NULL");
  if (reinterpret_cast<std::uintptr_t>(data) % size != 0)
    refuse("the data is not aligned for " + std::string(name_of(type_of(type))));
  return count * size * static_cast<std::size_t>(blocks);
}

[[noreturn]] void refuse_place(const std::string& name) {
  if (place_of_setting(name) == SettingPlace::process)
    refuse(name + " has an effect in the environment of the process alone: set it there");
  refuse(name +
         " has an effect when a rank joins: give it to fgc_init (Python: init), or set it "
         "in the environment");
}

}  // namespace

void refuse(const std::string& what) {
  throw Error(ErrorKind::usage, what);
}

ElementType type_of(int type) {
  switch (type) {
    case FGC_FLOAT32:
      return ElementType::float32;
    case FGC_FLOAT64:
      return ElementType::float64;
    case FGC_INT32:
      return ElementType::int32;
    case FGC_INT64:
      return ElementType::int64;
    case FGC_FLOAT16:
      return ElementType::float16;
    case FGC_BFLOAT16:
      return ElementType::bfloat16;
    case FGC_INT8:
      return ElementType::int8;
    case FGC_UINT8:
      return ElementType::uint8;
    default:
      refuse("there is no fgc_type " + std::to_string(type));
  }
}

ReduceOp op_of(int op) {
  switch (op) {
    case FGC_SUM:
      return ReduceOp::sum;
    case FGC_AVERAGE:
      return ReduceOp::average;
    case FGC_MIN:
      return ReduceOp::min;
    case FGC_MAX:
      return ReduceOp::max;
    case FGC_PRODUCT:
      return ReduceOp::product;
    default:
      refuse("there is no fgc_op " + std::to_string(op));
  }
}

std::span<std::byte> elements_at(void* data, std::size_t count, int type, int blocks) {
  return {static_cast<std::byte*>(data), bytes_of(data, count, type, blocks)};
}

std::span<const std::byte> elements_at(const void* data, std::size_t count, int type, int blocks) {
  return {static_cast<const std::byte*>(data), bytes_of(data, count, type, blocks)};
}

Environment environment_with(const Environment& base, const char* const* settings,
                             SettingPlace place) {
  std::map<std::string, std::string> overruled;
  for (std::size_t i = 0; settings != nullptr && settings[i] != nullptr; ++i) {
    const std::string setting = settings[i];
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)  // The text is not shown: it may be a secret.
      refuse("setting number " + std::to_string(i) + " is not NAME=VALUE");
    const std::string name = setting.substr(0, equals);
    check_setting(name);
    overruled[name] = setting.substr(equals + 1);
    if (place_of_setting(name) < place && overruled[name] != base(name).value_or(""))
      refuse_place(name);
  }
  return [base, overruled](const std::string& name) -> std::optional<std::string> {
    const auto found = overruled.find(name);
    if (found == overruled.end()) return base(name);
    if (found->second.empty()) return std::nullopt;
    return found->second;
  };
}

Environment environment_of_exchange(const Environment& base, const char* const* settings,
                                    std::string_view what,
                                    std::span<const std::string_view> others) {
  Environment environment = environment_with(base, settings, SettingPlace::exchange);
  for (const std::string_view other : others) {
    const std::string name(other);
    const auto given = environment(name);
    if (given && given != base(name)) refuse(name + " has no effect on " + std::string(what));
  }
  return environment;
}

}  // namespace fastgpu::comm::c_api
