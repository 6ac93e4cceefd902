// Bandwidth of every kernel at every level of this CPU, beside memcpy: bytes read and written a
// second, the median of several runs. Usage: bench_comm_kernels [MIB OF FLOAT32 ...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "comm/kernels/kernels.hpp"

namespace fastgpu::comm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRuns = 9;
/// The bytes that a run moves at least; it repeats the arrays until then.
constexpr double kBytesPerRun = 256e6;

std::size_t at(ElementType type) {
  return static_cast<std::size_t>(type);
}

struct Arrays {
  explicit Arrays(std::size_t elements)
      : count(elements), from(elements, 1.5F), to(elements, 0.5F), halves(elements, 0x3c00) {}

  std::size_t count;
  std::vector<float> from;
  std::vector<float> to;
  std::vector<std::uint16_t> halves;  ///< 1 as float16, 2^-7 as bfloat16.
};

struct Task {
  std::string name;
  double bytes_per_element;
  std::function<void(const Kernels&, Arrays&)> run;
};

double seconds_of(const std::function<void()>& action, int repeats) {
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i)
    action();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns GB/s.
double bandwidth(double bytes, const std::function<void()>& action) {
  const int repeats = std::max(1, static_cast<int>(kBytesPerRun / bytes));
  std::vector<double> runs;
  for (int i = 0; i < kRuns; ++i)
    runs.push_back(seconds_of(action, repeats));
  std::ranges::nth_element(runs, runs.begin() + kRuns / 2);
  return bytes * repeats / runs[kRuns / 2] / 1e9;
}

Task reduce_task(ElementType type, ReduceOp op) {
  return {std::string(name_of(op)) + " of " + std::string(name_of(type)), 12,
          [type, op](const Kernels& with, Arrays& a) {
            with.reduce[at(type)][static_cast<std::size_t>(op)](
                a.to.data(), a.from.data(), a.count * sizeof(float) / size_of(type));
          }};
}

Task convert_task(ElementType to, ElementType from) {
  const std::string name = std::string(name_of(from)) + " to " + std::string(name_of(to));
  return {name, static_cast<double>(size_of(to) + size_of(from)),
          [to, from](const Kernels& with, Arrays& a) {
            void* const target = size_of(to) == 2 ? static_cast<void*>(a.halves.data())
                                                  : static_cast<void*>(a.to.data());
            const void* const source = size_of(from) == 2
                                           ? static_cast<const void*>(a.halves.data())
                                           : static_cast<const void*>(a.from.data());
            with.conversions[at(to)][at(from)].convert(target, source, a.count, 0.5);
          }};
}

Task checked_task(ElementType to) {
  return {"float32 to " + std::string(name_of(to)) + ", checked",
          static_cast<double>(size_of(to) + sizeof(float)), [to](const Kernels& with, Arrays& a) {
            void* const target = size_of(to) == 2 ? static_cast<void*>(a.halves.data())
                                                  : static_cast<void*>(a.to.data());
            with.conversions[at(to)][at(ElementType::float32)].convert_checked(
                target, a.from.data(), a.count, 0.5);
          }};
}

Task add_task(ElementType from) {
  return {std::string(name_of(from)) + " added to float32", 10,
          [from](const Kernels& with, Arrays& a) {
            with.conversions[at(ElementType::float32)][at(from)].add(a.to.data(), a.halves.data(),
                                                                     a.count, 0.5);
          }};
}

std::vector<Task> tasks() {
  using enum ElementType;
  std::vector<Task> all{{"memcpy", 8,
                         [](const Kernels&, Arrays& a) {
                           std::memcpy(a.to.data(), a.from.data(), a.count * sizeof(float));
                         }},
                        {"copy past the caches", 8,
                         [](const Kernels& with, Arrays& a) {
                           with.stream(a.to.data(), a.from.data(), a.count * sizeof(float));
                         }},
                        {"search of float32", 4, [](const Kernels& with, Arrays& a) {
                           with.first_non_finite[at(float32)](a.from.data(), a.count);
                         }}};
  for (const ElementType type : {float32, float64, int32, int64, float16, bfloat16, int8, uint8})
    all.push_back(reduce_task(type, ReduceOp::sum));
  all.push_back(reduce_task(float32, ReduceOp::max));
  for (const ElementType to : {float32, float16, bfloat16}) {
    all.push_back(convert_task(to, float32));
    all.push_back(checked_task(to));
  }
  for (const ElementType from : {float16, bfloat16}) {
    all.push_back(convert_task(float32, from));
    all.push_back(add_task(from));
  }
  return all;
}

void measure(double mebibytes) {
  Arrays arrays(static_cast<std::size_t>(mebibytes * (1 << 18)));
  const SimdLevel highest = highest_level(cpu_features());
  std::printf("\n%g MiB of float32, GB/s\n%-30s", mebibytes, "");
  std::vector<SimdLevel> levels;
  for (const SimdLevel level : {SimdLevel::portable, SimdLevel::avx2, SimdLevel::avx512})
    if (level <= highest) levels.push_back(level);
  for (const SimdLevel level : levels)
    std::printf("%10s", std::string(name_of(level)).c_str());
  for (const Task& task : tasks()) {
    std::printf("\n%-30s", task.name.c_str());
    for (const SimdLevel level : levels) {
      const double bytes = task.bytes_per_element * static_cast<double>(arrays.count);
      std::printf("%10.1f", bandwidth(bytes, [&] { task.run(kernels_of(level), arrays); }));
      std::fflush(stdout);
    }
  }
  std::printf("\n");
}

}  // namespace
}  // namespace fastgpu::comm

int main(int argc, char** argv) {
  std::vector<double> sizes{0.0625, 4, 128};
  if (argc > 1) sizes.clear();
  for (int i = 1; i < argc; ++i)
    sizes.push_back(std::strtod(argv[i], nullptr));
  for (const double size : sizes)
    fastgpu::comm::measure(size);
}
