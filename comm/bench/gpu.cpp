// Bandwidth of the device's kernels over the gradients of whole models, beside a plain copy on the
// device, and of whole steps beside plain copies to the host and back. Prints JSON. Usage:
// bench_comm_gpu; exit status 77 without a GPU.
//
// Every measurement of kernels goes over more memory than a GPU caches, in turns, as one graph that
// is replayed; a figure is the median of its replays.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/bench/device_step.hpp"
#include "comm/bench/median.hpp"
#include "comm/bench/models.hpp"
#include "comm/gpu/check.hpp"
#include "comm/gpu/cuda_device.hpp"
#include "comm/gpu/kernels.hpp"

namespace fastgpu::comm::gpu {
namespace {

using enum ElementType;

/// The number of elements of each gradient.
using GradientList = std::vector<std::size_t>;

GradientList lengths(const std::vector<bench::ModelGradient>& model) {
  GradientList list;
  for (const bench::ModelGradient& gradient : model)
    list.push_back(gradient.elements);
  return list;
}

constexpr int kReplays = 25;
constexpr std::size_t kWorkingSet = std::size_t{1200} << 20;

void destroy_graph(cudaGraphExec_t graph) noexcept {
  cudaGraphExecDestroy(graph);
}
using GraphHandle = CHandle<CUgraphExec_st, destroy_graph>;

/// Runs `action` once for CUDA's work on first use, then records it.
GraphHandle recorded(const GpuStream& stream, const std::function<void()>& action) {
  action();
  stream.synchronize();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  check(cudaStreamBeginCapture(stream.handle(), cudaStreamCaptureModeThreadLocal), "recording");
  action();
  check(cudaStreamEndCapture(stream.handle(), &graph), "recording");
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  check(made, "making a graph");
  return GraphHandle(exec);
}

/// Returns the median time of a replay.
double seconds_of(const GpuStream& stream, const std::function<void()>& action) {
  const GraphHandle graph = recorded(stream, action);
  std::vector<double> seconds;
  for (int replay = -3; replay < kReplays; ++replay) {
    Event start(Timing::on);
    Event end(Timing::on);
    start.record(stream.handle());
    check(cudaGraphLaunch(graph.get(), stream.handle()), "replaying");
    end.record(stream.handle());
    end.synchronize();
    if (replay >= 0) seconds.push_back(seconds_between(start, end));  // The first ones warm up.
  }
  return bench::median(std::move(seconds));
}

/// Fills the memory with random numbers around 1, repeated.
void fill_with_numbers(std::span<std::byte> memory, const GpuStream& stream) {
  std::mt19937 random(1);
  std::vector<std::uint16_t> numbers(1 << 22);
  for (std::size_t i = 0; i < numbers.size(); ++i)  // Finite also as two float16 or bfloat16.
    numbers[i] = static_cast<std::uint16_t>(0x3c00U | (random() & 0x83ffU));
  const auto bytes = std::as_bytes(std::span(numbers));
  for (std::size_t at = 0; at < memory.size(); at += bytes.size()) {
    const std::size_t length = std::min(bytes.size(), memory.size() - at);
    copy_async(memory.subspan(at, length), bytes.first(length), stream.handle());
  }
  stream.synchronize();
}

/// One list of gradients in device memory, with a buffer for it.
struct Set {
  Set(const GradientList& counts, std::size_t gap, const GpuStream& stream)
      : elements(total(counts)),
        memory((elements + counts.size() * (gap + kAlignment)) * sizeof(float)),
        buffer(elements * sizeof(float)),
        list(tensors(counts, gap)),
        found(counts.size()) {
    fill_with_numbers(memory.span(), stream);
    fill_with_numbers(buffer.span(), stream);
  }

  std::span<std::byte> packed(ElementType type) const {
    return buffer.span().first(elements * size_of(type));
  }

  std::size_t elements;
  DeviceBuffer memory;
  DeviceBuffer buffer;
  TensorList list;
  NonFiniteTable found;

 private:
  /// Number of elements: 256 bytes, as allocators give.
  static constexpr std::size_t kAlignment = 64;

  static std::size_t total(const GradientList& counts) {
    std::size_t sum = 0;
    for (const std::size_t count : counts)
      sum += count;
    return sum;
  }

  /// Returns the tensors, each `gap` elements past an aligned place.
  std::vector<Tensor> tensors(const GradientList& counts, std::size_t gap) const {
    std::vector<Tensor> all;
    std::size_t at = 0;
    for (const std::size_t count : counts) {
      all.push_back({memory.span().data() + (at + gap) * sizeof(float), count});
      at += (count + gap + kAlignment - 1) / kAlignment * kAlignment;
    }
    return all;
  }
};

struct Task {
  std::string bar;
  std::string operation;
  double bytes_per_element;
  std::function<void(Set&, StreamHandle)> run;
};

constexpr Conversion kSame{float32, float32};
constexpr Conversion kHalved{float32, float16, 1.0 / 8};
constexpr Conversion kBrief{float32, bfloat16, 1.0 / 8};
constexpr Conversion kWidened{float16, float32};

std::vector<Task> tasks() {
  return {
      {"ceiling", "copy", 8,
       [](Set& set, StreamHandle stream) {
         const std::size_t bytes = set.elements * sizeof(float);
         copy_async(set.buffer.span(), set.memory.span().first(bytes), stream);
       }},
      {"G1", "pack float32", 8,
       [](Set& set, StreamHandle stream) { pack(set.packed(float32), set.list, kSame, stream); }},
      {"", "pack float16, scaled", 6,
       [](Set& set, StreamHandle stream) { pack(set.packed(float16), set.list, kHalved, stream); }},
      {"G2", "pack float16, scaled and checked", 6,
       [](Set& set, StreamHandle stream) {
         pack_checked(set.packed(float16), set.list, kHalved, set.found, stream);
       }},
      {"G2", "pack bfloat16, scaled and checked", 6,
       [](Set& set, StreamHandle stream) {
         pack_checked(set.packed(bfloat16), set.list, kBrief, set.found, stream);
       }},
      {"G3", "unpack float16", 6,
       [](Set& set, StreamHandle stream) {
         unpack(set.list, set.packed(float16), kWidened, stream);
       }},
      {"G3", "unpack float16 and add", 10,
       [](Set& set, StreamHandle stream) {
         unpack_and_add(set.list, set.packed(float16), kWidened, stream);
       }},
      {"G4", "search float32", 4,
       [](Set& set, StreamHandle stream) {
         first_non_finite(set.list, float32, set.found, stream);
       }},
      {"", "reduce float32", 12,
       [](Set& set, StreamHandle stream) {
         const std::size_t bytes = set.elements * sizeof(float);
         reduce_into(set.packed(float32), set.memory.span().first(bytes), {float32, ReduceOp::max},
                     stream);
       }},
  };
}

struct Measured {
  std::string list;
  std::size_t tensors;
  std::size_t elements;
  std::string bar;
  std::string operation;
  double bytes_per_element;
  double seconds;
  double of_copy;  ///< The bandwidth relative to that of the copy.
};

void print(const Measured& m, bool is_first) {
  const double bytes = m.bytes_per_element * static_cast<double>(m.elements);
  std::printf(
      "%s\n  {\"bar\": \"%s\", \"library\": \"fastgpu\", \"operation\": \"%s\", "
      "\"list\": \"%s\", \"tensors\": %zu, \"elements\": %zu, \"bytes\": %.0f, "
      "\"seconds\": %.9f, \"bandwidth\": %.4e, \"of_copy\": %.4f}",
      is_first ? "" : ",", m.bar.c_str(), m.operation.c_str(), m.list.c_str(), m.tensors,
      m.elements, bytes, m.seconds, bytes / m.seconds, m.of_copy);
  std::fflush(stdout);
}

/// Measures over as many sets as make a working set; a figure is for one of them.
void measure(const std::string& name, const GradientList& counts, std::size_t gap, bool is_first) {
  const GpuStream stream;
  std::vector<std::unique_ptr<Set>> sets;
  for (std::size_t bytes = 0; bytes < kWorkingSet; bytes += sets.back()->memory.span().size())
    sets.push_back(std::make_unique<Set>(counts, gap, stream));
  const std::size_t elements = sets.front()->elements;
  double copy_bandwidth = 0;
  for (const Task& task : tasks()) {
    const double all = seconds_of(stream, [&] {
      for (const auto& set : sets)
        task.run(*set, stream.handle());
    });
    const double seconds = all / static_cast<double>(sets.size());
    const double bandwidth = task.bytes_per_element * static_cast<double>(elements) / seconds;
    if (copy_bandwidth == 0) copy_bandwidth = bandwidth;
    print({name, counts.size(), elements, task.bar, task.operation, task.bytes_per_element, seconds,
           bandwidth / copy_bandwidth},
          is_first);
    is_first = false;
  }
}

bool has_nccl(const Device& device) {
  try {
    static_cast<void>(device.load_nccl(""));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Measures whole steps of the only rank, beside copies to the host and back, which NCCL does
/// without.
void measure_steps(const std::string& name, const GradientList& counts) {
  const auto device = std::make_shared<CudaDevice>();
  const std::size_t elements = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  for (const DevicePath path : {DevicePath::staged, DevicePath::nccl}) {
    if (path == DevicePath::nccl && !has_nccl(*device)) continue;
    for (const bool is_half : {false, true}) {
      GradientSettings settings;
      settings.wire = is_half ? WireType::float16 : WireType::same;
      settings.device.path = path;
      const bench::DeviceStep figures = bench::measure_device_step(device, counts, settings);
      print({name, counts.size(), elements, "",
             "step, " + name_of(path) + (is_half ? ", float16" : ", float32"), is_half ? 4.0 : 8.0,
             figures.step, figures.copies / figures.step},
            false);
    }
  }
}

int run() {
  constexpr int kSkipped = 77;
  if (device_count() == 0) return kSkipped;
  cudaDeviceProp device{};
  int driver = 0;
  check(cudaGetDeviceProperties(&device, 0), "describing the GPU");
  check(cudaDriverGetVersion(&driver), "asking for the driver's version");
  std::printf(
      "{\"schema\": \"fastgpu.gpu-benchmark/1\",\n \"device\": {\"name\": \"%s\", "
      "\"processors\": %d, \"cuda_driver\": %d, \"cuda_runtime\": %d},\n \"results\": [",
      device.name, device.multiProcessorCount, driver, CUDART_VERSION);
  measure("bert-large", lengths(bench::bert_large()), 0, true);
  measure("bert-large, odd offsets", lengths(bench::bert_large()), 1, false);
  measure("resnet-50", lengths(bench::resnet50()), 0, false);
  measure_steps("resnet-50", lengths(bench::resnet50()));
  measure_steps("bert-large", lengths(bench::bert_large()));
  std::printf("\n ]}\n");
  return 0;
}

}  // namespace
}  // namespace fastgpu::comm::gpu

int main() {
  try {
    return fastgpu::comm::gpu::run();
  } catch (const fastgpu::Error& e) {
    std::fprintf(stderr, "bench_comm_gpu: %s\n", e.what());
    return 1;
  }
}
