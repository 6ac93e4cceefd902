// bench_comm_gloo: times Gloo's collectives as fastgpu-comm-bench does ours. Run one process a
// rank, by mpirun or with RANK and WORLD_SIZE set; ranks meet in a folder that all of them can
// read.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <memory>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/bench/bench_program.hpp"
#include "comm/rendezvous/rank_environment.hpp"

namespace fastgpu::comm::bench {
namespace {

using gloo::AllreduceOptions;

struct GlooOptions {
  std::string store;
  std::string interface = "lo";
  std::string algorithm = "ring";
};

AllreduceOptions::Algorithm algorithm_of(const GlooOptions& options) {
  if (options.algorithm == "ring") return AllreduceOptions::Algorithm::RING;
  if (options.algorithm == "bcube") return AllreduceOptions::Algorithm::BCUBE;
  throw Error(ErrorKind::usage,
              "--algorithm '" + printable(options.algorithm) + "' is none of ring, bcube");
}

/// Returns rank and size, as for our own library, but without a meeting point.
JobPlace place_of(const Environment& environment) {
  return job_place([&](const std::string& name) -> std::optional<std::string> {
    if (name == "MASTER_ADDR" || name == "FASTGPU_COMM_MASTER_ADDR") return "unused";
    if (name == "MASTER_PORT" || name == "FASTGPU_COMM_MASTER_PORT") return "1";
    return environment(name);
  });
}

std::shared_ptr<gloo::Context> connect(const GlooOptions& options) {
  if (options.store.empty())
    throw Error(ErrorKind::usage, "--store is missing: an empty folder that all ranks see");
  const JobPlace place = place_of(process_environment());
  gloo::transport::tcp::attr device;
  device.iface = options.interface;
  auto context = std::make_shared<gloo::rendezvous::Context>(place.rank.value, place.size);
  context->setTimeout(place.timeout);
  gloo::rendezvous::FileStore store(options.store);
  auto tcp = gloo::transport::tcp::CreateDevice(device);
  context->connectFullMesh(store, tcp);
  return context;
}

class GlooLibrary final : public BenchLibrary {
 public:
  GlooLibrary(std::shared_ptr<gloo::Context> context, const GlooOptions& options)
      : context_(std::move(context)),
        algorithm_(algorithm_of(options)),
        name_("Gloo " + options.algorithm) {}

  std::string name() const override { return name_; }
  int rank() const override { return context_->rank; }
  int ranks() const override { return context_->size; }

  void check_has(const BenchCall& call) const override {
    if (call.collective == BenchCollective::reduce_scatter)
      throw Error(ErrorKind::usage, "--collective reduce_scatter: Gloo has none of any length");
    if (is_of_two_ranks(call.collective))
      throw Error(ErrorKind::usage, "--collective " + std::string(name_of(call.collective)) +
                                        ": the benchmark of Gloo has none");
    if (is_reduction(call.collective) && call.type == ElementType::bfloat16)
      throw Error(ErrorKind::usage, "--dtype bfloat16: Gloo adds no such numbers");
  }

  void run(const BenchCall& call) override {
    switch (call.collective) {
      case BenchCollective::all_reduce:
        return add(call);
      case BenchCollective::all_gather: {
        gloo::AllgatherOptions options(context_);
        options.setInput(bytes(call.in), call.in.size());
        options.setOutput(bytes(call.out), call.out.size());
        return gloo::allgather(options);
      }
      case BenchCollective::broadcast: {
        gloo::BroadcastOptions options(context_);
        options.setOutput(bytes(call.in), call.in.size());
        options.setRoot(0);
        return gloo::broadcast(options);
      }
      case BenchCollective::all_to_all: {
        gloo::AlltoallOptions options(context_);
        options.setInput(bytes(call.in), call.in.size());
        options.setOutput(bytes(call.out), call.out.size());
        return gloo::alltoall(options);
      }
      case BenchCollective::reduce_scatter:  // Refused before.
      case BenchCollective::message:         // Refused before.
      case BenchCollective::ping_pong:       // Refused before.
      case BenchCollective::barrier:
        return barrier();
    }
  }

  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }

  double greatest(double number) override {
    AllreduceOptions options(context_);
    options.setOutput(&number, 1);
    options.setReduceFunction([](void* into, const void* a, const void* b, std::size_t count) {
      gloo::max<double>(into, a, b, count);
    });
    gloo::allreduce(options);
    return number;
  }

 private:
  static char* bytes(std::span<std::byte> memory) { return reinterpret_cast<char*>(memory.data()); }

  void add(const BenchCall& call) {
    switch (call.type) {
      case ElementType::float32:
        return add_as<float>(call);
      case ElementType::float64:
        return add_as<double>(call);
      case ElementType::int32:
        return add_as<std::int32_t>(call);
      case ElementType::int64:
        return add_as<std::int64_t>(call);
      case ElementType::float16:
        return add_as<gloo::float16>(call);
      case ElementType::int8:
        return add_as<std::int8_t>(call);
      case ElementType::uint8:
        return add_as<std::uint8_t>(call);
      case ElementType::bfloat16:  // Refused before.
        return;
    }
  }

  template <class T>
  void add_as(const BenchCall& call) {
    AllreduceOptions options(context_);
    options.setAlgorithm(algorithm_);
    options.setOutput(reinterpret_cast<T*>(call.out.data()), call.out.size() / sizeof(T));
    options.setReduceFunction([](void* into, const void* a, const void* b, std::size_t count) {
      gloo::sum<T>(into, a, b, count);
    });
    gloo::allreduce(options);
  }

  std::shared_ptr<gloo::Context> context_;
  AllreduceOptions::Algorithm algorithm_;
  std::string name_;
};

}  // namespace
}  // namespace fastgpu::comm::bench

int main(int count, char** arguments) {
  using namespace fastgpu::comm::bench;
  GlooOptions own;
  const BenchProgram program{
      .name = "bench_comm_gloo",
      .about = "Times Gloo's collectives over TCP. Rank 0 prints a line of JSON a result.",
      .options = {{"--store", "An empty folder that all ranks see, where they meet", &own.store},
                  {"--interface", "The network interface to use (lo)", &own.interface},
                  {"--algorithm", "Of all_reduce: ring or bcube (ring)", &own.algorithm}}};
  return run_program(program, {arguments, static_cast<std::size_t>(count)},
                     [&](const BenchSettings& settings) {
                       refuse_ours(program, settings);
                       algorithm_of(own);
                       GlooLibrary library(connect(own), own);
                       measure_collectives(library, settings, print_result);
                     });
}
