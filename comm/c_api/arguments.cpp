#include "comm/c_api/arguments.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "comm/common/variables.hpp"

namespace fastgpu::comm::c_api {
namespace {

std::size_t bytes_of(const void* data, std::size_t count, int type, int blocks) {
  const std::size_t size = size_of(type_of(type));
  const std::size_t of_each = size * static_cast<std::size_t>(blocks);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, of_each, &bytes))
    refuse("a count of " + std::to_string(count) + " is too large");
  if (data == nullptr && count > 0) refuse("the data is NULL");
  if ((reinterpret_cast<std::uintptr_t>(data) & (size - 1)) != 0)  // Sizes are powers of two.
    refuse("the data is not aligned for " + std::string(name_of(type_of(type))));
  return bytes;
}

/// Returns `base`, overruled by "NAME=VALUE" up to a NULL. Calls `check` with the name and the
/// value of each that differs from `base`.
template <class Check>
Environment overruled(const Environment& base, const char* const* settings, Check check) {
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; settings != nullptr && settings[i] != nullptr; ++i) {
    const std::string setting = settings[i];
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)  // The text is not shown: it may be a secret.
      refuse("setting number " + std::to_string(i) + " is not NAME=VALUE");
    const std::string name = setting.substr(0, equals);
    check_setting(name);
    values[name] = setting.substr(equals + 1);
    if (values[name] != base(name).value_or("")) check(name, values[name]);
  }
  return [base, values](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return base(name);
    if (found->second.empty()) return std::nullopt;
    return found->second;
  };
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

void refuse_null(const char* name) {
  refuse(std::string(name) + " is NULL");
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
  return overruled(base, settings, [&](const std::string& name, const std::string&) {
    if (place_of_setting(name) < place) refuse_place(name);
  });
}

Environment environment_of_exchange(const Environment& base, const char* const* settings,
                                    ExchangeKind kind) {
  Environment environment =
      overruled(base, settings, [&](const std::string& name, const std::string& value) {
        if (place_of_setting(name) < SettingPlace::exchange) refuse_place(name);
        if (!value.empty() && !has_effect_on(kind, name))
          refuse(name + " has no effect on " + std::string(name_of(kind)));
      });
  check_wishes(kind, environment);
  return environment;
}

}  // namespace fastgpu::comm::c_api
