// The arguments from C, checked: numbers as enums, pointers as spans, handles that are not NULL.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "comm/common/process_environment.hpp"
#include "comm/common/variables.hpp"
#include "comm/include/fastgpu_comm.h"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm::c_api {

// All functions throw ErrorKind::usage, naming the value met.

[[noreturn]] void refuse(const std::string& what);
[[noreturn]] void refuse_null(const char* name);

/// Returns what `pointer`, an argument called `name`, points to.
template <class T>
T& need(T* pointer, const char* name) {
  if (pointer == nullptr) refuse_null(name);
  return *pointer;
}

ElementType type_of(int type);
ReduceOp op_of(int op);
inline Reduction reduction_of(int type, int op) {
  return {type_of(type), op_of(op)};
}

/// Returns `count` elements for each of `blocks` ranks.
std::span<std::byte> elements_at(void* data, std::size_t count, int type, int blocks = 1);
std::span<const std::byte> elements_at(const void* data, std::size_t count, int type,
                                       int blocks = 1);

/// Returns `base`, overruled by "NAME=VALUE" up to a NULL: the settings of a job, or of an exchange
/// in it. Throws ErrorKind::usage for a setting that differs from `base` and has no effect there.
Environment environment_with(const Environment& base, const char* const* settings,
                             SettingPlace place);

/// Returns the same for an exchange. Throws ErrorKind::usage also for a setting that differs from
/// `base` and has no effect on exchanges of this kind, and for one of both that asks for what they
/// do not do. An empty value takes one of `base` back.
Environment environment_of_exchange(const Environment& base, const char* const* settings,
                                    ExchangeKind kind);

/// The largest struct size; a larger one is taken for memory that was never set.
constexpr std::size_t kLargestStruct = 4096;

template <class T>
void check_struct_size(const T& theirs) {
  if (theirs.struct_size < sizeof(theirs.struct_size) || theirs.struct_size > kLargestStruct)
    refuse("a struct_size is " + std::to_string(theirs.struct_size) + ": it is not set");
}

/// Returns a struct with the caller's fields, and 0 after their end. A caller's struct with more
/// fields than this library has is refused if these are not 0.
template <class T>
T read_struct(const T& theirs) {
  check_struct_size(theirs);
  T mine{};
  const std::size_t known = std::min(theirs.struct_size, sizeof(T));
  std::memcpy(&mine, &theirs, known);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&theirs);
  for (std::size_t i = known; i < theirs.struct_size; ++i)
    if (bytes[i] != 0) refuse("the program uses what this older libfastgpu_comm does not know");
  return mine;
}

/// Writes as much of `mine` as the caller has room for, and 0 in fields that this library does not
/// know.
template <class T>
void write_struct(T& theirs, T mine) {
  check_struct_size(theirs);
  mine.struct_size = theirs.struct_size;
  const std::size_t known = std::min(theirs.struct_size, sizeof(T));
  std::memset(&theirs, 0, mine.struct_size);
  std::memcpy(&theirs, &mine, known);
}

}  // namespace fastgpu::comm::c_api
