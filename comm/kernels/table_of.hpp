// The table of kernels for a Machine, as loops.hpp describes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/kernels/code_loops.hpp"
#include "comm/kernels/kernels.hpp"
#include "comm/kernels/loops.hpp"

namespace fastgpu::comm::loops {

template <class Machine, class T>
constexpr void add_type(Kernels& table, ElementType type) {
  using Numbers = Arithmetic<Machine, LaneOf<T>>;
  using L = Loops<Machine>;
  const auto row = static_cast<std::size_t>(type);
  auto& reduce = table.reduce[row];
  reduce[static_cast<std::size_t>(ReduceOp::sum)] = L::template reduce<T, Numbers::sum>;
  reduce[static_cast<std::size_t>(ReduceOp::average)] = L::template reduce<T, Numbers::sum>;
  reduce[static_cast<std::size_t>(ReduceOp::min)] = L::template reduce<T, Numbers::least>;
  reduce[static_cast<std::size_t>(ReduceOp::max)] = L::template reduce<T, Numbers::greatest>;
  reduce[static_cast<std::size_t>(ReduceOp::product)] = L::template reduce<T, Numbers::product>;
  table.divide[row] = L::template divide<T>;
  if constexpr (kIsFloating<T>) table.first_non_finite[row] = L::template first_non_finite<T>;
}

template <class Machine, class To, class From>
constexpr void add_conversion(Kernels& table) {
  using L = Loops<Machine>;
  table.conversions[static_cast<std::size_t>(kElementType<To>)][static_cast<std::size_t>(
      kElementType<From>)] = {L::template convert<To, From>, L::template add<To, From>,
                              L::template convert_checked<To, From>};
}

template <class Machine>
constexpr Kernels table_of() {
  Kernels table{};
  add_type<Machine, float>(table, ElementType::float32);
  add_type<Machine, double>(table, ElementType::float64);
  add_type<Machine, std::int32_t>(table, ElementType::int32);
  add_type<Machine, std::int64_t>(table, ElementType::int64);
  add_type<Machine, Float16>(table, ElementType::float16);
  add_type<Machine, BFloat16>(table, ElementType::bfloat16);
  add_type<Machine, std::int8_t>(table, ElementType::int8);
  add_type<Machine, std::uint8_t>(table, ElementType::uint8);
  add_conversion<Machine, float, float>(table);
  add_conversion<Machine, float, Float16>(table);
  add_conversion<Machine, float, BFloat16>(table);
  add_conversion<Machine, Float16, float>(table);
  add_conversion<Machine, Float16, Float16>(table);
  add_conversion<Machine, BFloat16, float>(table);
  add_conversion<Machine, BFloat16, BFloat16>(table);
  add_conversion<Machine, double, double>(table);
  table.stream = Machine::stream;
  using C = CodeLoops<Machine>;
  table.int8 = {C::encode_int8, C::add_int8};
  table.signs = {C::encode_signs, C::add_signs, C::encode_signs_with_feedback};
  table.select = C::select;
  table.drop_non_finite = C::drop_non_finite;
  return table;
}

}  // namespace fastgpu::comm::loops
