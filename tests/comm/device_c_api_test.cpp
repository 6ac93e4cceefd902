// The C ABI on device memory, with a device that computes on the CPU in place of CUDA's.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fastgpu_comm.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "comm/c_api/make_device.hpp"
#include "gpu/device_values.hpp"
#include "gpu/fake_device.hpp"

namespace fastgpu::comm {
namespace {

/// Each rank is a thread here; CUDA too has a current device for each.
thread_local std::shared_ptr<test::FakeDevice> current;

}  // namespace

namespace c_api {

bool has_devices() noexcept {
  return true;
}

std::shared_ptr<gpu::Device> make_device() {
  return current;
}

}  // namespace c_api

namespace {

using test::DeviceValues;
using Floats = std::vector<float>;

/// A port of the loopback interface that nobody has.
int free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(socket.get(), any, length) == 0);
  REQUIRE(::getsockname(socket.get(), any, &length) == 0);
  return ntohs(address.sin_port);
}

/// What was not as expected, on any rank.
struct Failures {
  std::vector<std::vector<std::string>> of_rank;

  void expect(std::size_t rank, bool is_true, const std::string& what) {
    if (!is_true) of_rank[rank].push_back(what + " (last error: " + fgc_last_error() + ")");
  }
};

/// Calls body(communicator, rank, failures) for each rank of a job, each with a device of its own.
template <class Body>
Failures run_job(std::size_t size, Body body) {
  Failures failures{std::vector<std::vector<std::string>>(size)};
  const std::string port = "MASTER_PORT=" + std::to_string(free_port());
  const std::string world = "WORLD_SIZE=" + std::to_string(size);
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      current = std::make_shared<test::FakeDevice>();
      const std::string self = "RANK=" + std::to_string(rank);
      const char* const settings[] = {self.c_str(),
                                      world.c_str(),
                                      "MASTER_ADDR=127.0.0.1",
                                      port.c_str(),
                                      "FASTGPU_COMM_SECRET=the test's",
                                      nullptr};
      fgc_comm* comm = nullptr;
      failures.expect(rank, fgc_init(settings, &comm) == FGC_OK, "joining");
      if (comm == nullptr) return;
      body(comm, rank, failures);
      fgc_barrier(comm);
      fgc_comm_free(comm);
      failures.expect(rank, current->allocated() + current->pinned() == 0, "memory is given back");
    });
  }
  threads.clear();
  return failures;
}

void check(const Failures& failures) {
  for (const auto& of_rank : failures.of_rank)
    for (const std::string& failure : of_rank)
      FAIL_CHECK(failure);
}

bool last_error_has(const std::string& text) {
  return std::string(fgc_last_error()).find(text) != std::string::npos;
}

TEST_SUITE_BEGIN("comm/device_c_api");

TEST_CASE("float32 on devices is summed, blocking and asynchronously") {
  check(run_job(3, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const auto stream = gpu::stream_of(*current);
    const DeviceValues<float> values(*current, Floats(1000, static_cast<float>(rank)));
    failures.expect(rank, fgc_device_support() == 1, "there are devices");
    failures.expect(rank,
                    fgc_device_all_reduce(comm, values.data(), 1000, FGC_FLOAT32, FGC_SUM,
                                          stream.get()) == FGC_OK,
                    "a sum");
    failures.expect(rank, values.read(stream.get()) == Floats(1000, 3), "it is right");
    fgc_request* request = nullptr;
    failures.expect(rank,
                    fgc_device_all_reduce_async(comm, values.data(), 1000, FGC_FLOAT32, FGC_SUM,
                                                stream.get(), &request) == FGC_OK,
                    "another one begins");
    failures.expect(rank, fgc_request_wait(request) == FGC_OK, "and ends");
    int is_done = 0;
    failures.expect(rank, fgc_request_test(request, &is_done) == FGC_OK && is_done == 1, "truly");
    fgc_request_free(request);
    failures.expect(rank, values.read(stream.get()) == Floats(1000, 9), "it is right as well");
  }));
}

TEST_CASE("the other collectives go over devices too") {
  check(run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const auto mine = static_cast<float>(rank);
    const DeviceValues<float> part(*current, Floats(3, mine));
    const DeviceValues<float> whole(*current, Floats(6, 9));
    const DeviceValues<float> other(*current, Floats(6, 9));
    void* const stream = nullptr;
    fgc_device_all_gather(comm, part.data(), whole.data(), 3, FGC_FLOAT32, stream);
    failures.expect(rank, whole.read() == Floats{0, 0, 0, 1, 1, 1}, "all-gather");
    fgc_device_all_to_all(comm, whole.data(), other.data(), 3, FGC_FLOAT32, stream);
    failures.expect(rank, other.read() == Floats(6, mine), "all-to-all");
    fgc_device_reduce_scatter(comm, whole.data(), part.data(), 3, FGC_FLOAT32, FGC_SUM, stream);
    failures.expect(rank, part.read() == Floats(3, 2 * mine), "reduce-scatter");
    fgc_device_broadcast(comm, part.data(), 3, FGC_FLOAT32, 1, stream);
    failures.expect(rank, part.read() == Floats(3, 2), "broadcast");
  }));
}

TEST_CASE("requests may be freed unwaited, and after their communicator") {
  check(run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const DeviceValues<float> values(*current, Floats(10, 1));
    fgc_comm* group = nullptr;
    fgc_request* request = nullptr;
    failures.expect(rank, fgc_split(comm, 0, 0, &group) == FGC_OK, "a group");
    fgc_device_all_reduce_async(group, values.data(), 10, FGC_FLOAT32, FGC_SUM, nullptr, &request);
    fgc_comm_free(group);
    fgc_request_free(request);
  }));
}

TEST_CASE("wrong calls are refused, and the job goes on") {
  check(run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const DeviceValues<float> values(*current, Floats(4, 1));
    float on_host[4] = {};
    const auto refused = [&](fgc_status status, const std::string& why) {
      failures.expect(rank, status == FGC_USAGE && last_error_has(why), "refused: " + why);
    };
    refused(fgc_device_all_reduce(comm, on_host, 4, FGC_FLOAT32, FGC_SUM, nullptr), "memory");
    refused(fgc_device_all_reduce(comm, values.data(), 4, 77, FGC_SUM, nullptr), "fgc_type 77");
    refused(fgc_device_all_reduce(comm, values.data(), 4, FGC_FLOAT32, 77, nullptr), "fgc_op 77");
    refused(fgc_device_broadcast(comm, values.data(), 4, FGC_FLOAT32, 2, nullptr), "rank 2");
    refused(fgc_device_all_reduce(nullptr, values.data(), 4, FGC_FLOAT32, FGC_SUM, nullptr),
            "NULL");
    refused(
        fgc_device_all_reduce_async(comm, values.data(), 4, FGC_FLOAT32, FGC_SUM, nullptr, nullptr),
        "NULL");
    fgc_device_all_reduce(comm, values.data(), 4, FGC_FLOAT32, FGC_SUM, nullptr);
    failures.expect(rank, values.read() == Floats(4, 2), "the job goes on");
  }));
}

/// The gradients of one rank.
struct Gradients {
  Gradients(fgc_comm* comm, const char* setting) {
    const char* const settings[] = {setting, nullptr};
    fgc_gradients_create(comm, settings, &handle);
  }
  Gradients(const Gradients&) = delete;
  Gradients& operator=(const Gradients&) = delete;
  ~Gradients() { fgc_gradients_free(handle); }

  fgc_status add(const char* name, float* data, std::uint64_t count, int memory) const {
    fgc_gradient gradient{};
    gradient.struct_size = sizeof(gradient);
    gradient.name = name;
    gradient.data = data;
    gradient.shape = &count;
    gradient.dimensions = 1;
    gradient.memory = memory;
    return fgc_gradient_add(handle, &gradient, nullptr);
  }

  fgc_gradients* handle = nullptr;
};

TEST_CASE("gradients of devices and of the host are averaged together") {
  check(run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const auto stream = gpu::stream_of(*current);
    const DeviceValues<float> values(*current, Floats(5000));
    Floats on_host(7);
    const Gradients gradients(comm, "FASTGPU_COMM_WIRE=fp16");
    gradients.add("on the device", values.data(), 5000, FGC_DEVICE);
    gradients.add("on the host", on_host.data(), 7, FGC_HOST);
    failures.expect(rank, gradients.add("nowhere", on_host.data(), 7, 5) == FGC_USAGE, "no place");
    for (int step = 0; step < 3; ++step) {
      on_host.assign(7, static_cast<float>(2 * rank));
      current->run(stream.get(), [&values, rank] {
        std::ranges::fill(std::span(values.data(), 5000), static_cast<float>(2 * rank));
      });
      failures.expect(rank, fgc_gradient_ready(gradients.handle, 1) == FGC_OK, "the host's");
      failures.expect(rank, fgc_device_gradient_ready(gradients.handle, 0, stream.get()) == FGC_OK,
                      "ready");
      failures.expect(rank,
                      fgc_device_gradients_wait(gradients.handle, stream.get(), nullptr) == FGC_OK,
                      "the step ends");
      failures.expect(rank, on_host == Floats(7, 1), "the host's average");
      failures.expect(rank, values.read(stream.get()) == Floats(5000, 1), "the device's average");
    }
  }));
}

TEST_CASE("what is not finite on a device is told to C") {
  check(run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    Floats numbers(100, 1);
    if (rank == 1) numbers[42] = std::numeric_limits<float>::infinity();
    const DeviceValues<float> values(*current, numbers);
    const Gradients gradients(comm, "FASTGPU_COMM_NANCHECK=skip");
    gradients.add("values", values.data(), 100, FGC_DEVICE);
    fgc_gradient_ready(gradients.handle, 0);
    fgc_outcome outcome{};
    outcome.struct_size = sizeof(outcome);
    failures.expect(rank, fgc_gradients_wait(gradients.handle, &outcome) == FGC_OK, "the step");
    failures.expect(rank, outcome.is_applied == 0 && outcome.non_finite == FGC_INFINITY, "what");
    failures.expect(rank, outcome.non_finite_rank == 1 && outcome.non_finite_index == 42, "where");
  }));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
