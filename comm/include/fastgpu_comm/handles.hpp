// The common parts of the C++ headers: errors, types, settings, ownership.
#pragma once

#include <fastgpu_comm.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fgc {

/// A failure of a function of the C ABI.
class Error : public std::runtime_error {
 public:
  Error(fgc_status status, const std::string& sentence)
      : std::runtime_error(sentence), status_(status) {}
  fgc_status status() const noexcept { return status_; }

 private:
  fgc_status status_;
};

inline void check(fgc_status status) {
  if (status != FGC_OK) throw Error(status, fgc_last_error());
}

/// The fgc_type of T. Specialise it for a 16-bit type of your own.
template <class T>
struct TypeOf;
template <fgc_type type>
using Is = std::integral_constant<fgc_type, type>;
// clang-format off
template <> struct TypeOf<float> : Is<FGC_FLOAT32> {};
template <> struct TypeOf<double> : Is<FGC_FLOAT64> {};
template <> struct TypeOf<std::int32_t> : Is<FGC_INT32> {};
template <> struct TypeOf<std::int64_t> : Is<FGC_INT64> {};
template <> struct TypeOf<std::int8_t> : Is<FGC_INT8> {};
template <> struct TypeOf<std::uint8_t> : Is<FGC_UINT8> {};
template <> struct TypeOf<std::byte> : Is<FGC_UINT8> {};
// clang-format on

/// Contiguous elements that outlive the call: an array, a vector, a std::span.
template <class Range>
concept Values = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    std::ranges::borrowed_range<Range>;
template <Values Range>
inline constexpr fgc_type kType = TypeOf<std::ranges::range_value_t<Range>>::value;
/// The type of elements that come from one range and go to another.
template <Values From, Values To>
requires std::same_as<std::ranges::range_value_t<From>, std::ranges::range_value_t<To>>
inline constexpr fgc_type kSameType = kType<To>;

/// Returns the pointer to a range for the C ABI.
template <class Range>
auto* begin_of(Range& values) {
  return std::ranges::data(values);
}
template <class Range>
std::size_t count_of(Range& values) {
  return std::ranges::size(values);
}

/// Throws if `all` elements are not `block` for each of `ranks`.
inline void check_blocks(std::size_t block, std::size_t all, int ranks) {
  if (all != block * static_cast<std::size_t>(ranks))
    throw Error(FGC_USAGE, std::to_string(all) + " elements are not " + std::to_string(block) +
                               " for each of " + std::to_string(ranks) + " ranks");
}
inline std::size_t block_of(std::size_t out, std::size_t in, int ranks) {
  const std::size_t block = out / static_cast<std::size_t>(ranks);
  check_blocks(block, out, ranks);
  check_blocks(block, in, ranks);
  return block;
}

/// Settings that overrule the environment, each "NAME=VALUE".
using Settings = std::vector<std::string>;
inline std::vector<const char*> list_of(const Settings& settings) {
  std::vector<const char*> list;
  for (const std::string& setting : settings)
    list.push_back(setting.c_str());
  list.push_back(nullptr);
  return list;
}

template <auto release>
struct Release {
  template <class Handle>
  void operator()(Handle* handle) const noexcept {
    release(handle);
  }
};

/// Returns the struct that `fill`, given a handle and its place, fills.
template <class Struct, class Handle, class Fill>
Struct filled_by(Fill fill, Handle* handle) {
  Struct all{};
  all.struct_size = sizeof(all);
  check(fill(handle, &all));
  return all;
}

/// Returns the state that `save` has of a handle.
template <class Handle>
std::vector<std::byte> saved_by(fgc_status (*save)(Handle*, void*, std::size_t, std::size_t*),
                                Handle* handle) {
  std::size_t bytes = 0;
  check(save(handle, nullptr, 0, &bytes));
  std::vector<std::byte> state(bytes);
  check(save(handle, state.data(), state.size(), &bytes));
  return state;
}

/// A handler of sentences, at an address that does not change. It outlives the handle that has it.
class WarningHandler {
 public:
  /// Makes it that of `handle` by `on_warning`.
  template <class Handle>
  void set(fgc_status (*on_warning)(Handle*, fgc_warning_handler, void*), Handle* handle,
           std::function<void(const char*)> handler) {
    auto kept = std::make_unique<std::function<void(const char*)>>(std::move(handler));
    check(on_warning(
        handle,
        [](const char* sentence, void* user) {
          (*static_cast<std::function<void(const char*)>*>(user))(sentence);
        },
        kept.get()));
    handler_ = std::move(kept);
  }

 private:
  std::unique_ptr<std::function<void(const char*)>> handler_{};
};

/// A begun operation. Its destructor waits.
class Request {
 public:
  explicit Request(fgc_request* request) : request_(request) {}

  bool test() {
    int is_done = 0;
    check(fgc_request_test(get(), &is_done));
    return is_done != 0;
  }
  void wait() { check(fgc_request_wait(get())); }
  fgc_request* get() const noexcept { return request_.get(); }

 private:
  std::unique_ptr<fgc_request, Release<fgc_request_free>> request_;
};

/// Returns the request that `start` begins, given `arguments` and the place for the request.
template <class Start, class... Arguments>
Request begun(Start start, Arguments... arguments) {
  fgc_request* request = nullptr;
  check(start(arguments..., &request));
  return Request(request);
}

/// Elements that other ranks of this host read in place.
template <class T>
class Memory {
 public:
  Memory(fgc_comm* comm, std::size_t count) : comm_(comm), count_(count) {
    void* memory = nullptr;
    check(fgc_mem_alloc(comm, count * sizeof(T), &memory));
    data_ = static_cast<T*>(memory);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { fgc_mem_free(comm_, data_); }

  std::span<T> values() const noexcept { return {data_, count_}; }

 private:
  fgc_comm* comm_;  ///< Borrowed: it lives longer.
  T* data_ = nullptr;
  std::size_t count_;
};

}  // namespace fgc
