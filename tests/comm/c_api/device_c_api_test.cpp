// The C ABI on device memory, with a device that computes on the CPU in place of CUDA's.
#include <doctest/doctest.h>
#include <fastgpu_comm.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "comm/c_api/device_job.hpp"
#include "gpu/device_values.hpp"

namespace fastgpu::comm {
namespace {

using test::DeviceValues;
using test::Failures;
using test::last_error_has;
using test::run_job;
using test::WithNccl;
using Floats = std::vector<float>;

test::FakeDevice& device() {
  return *test::current_device();
}

TEST_SUITE_BEGIN("comm/device_c_api");

TEST_CASE("float32 on devices is summed, blocking and asynchronously") {
  run_job(3, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const auto stream = gpu::stream_of(device());
    const DeviceValues<float> values(device(), Floats(1000, static_cast<float>(rank)));
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
  });
}

TEST_CASE("the other collectives go over devices too") {
  run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const auto mine = static_cast<float>(rank);
    const DeviceValues<float> part(device(), Floats(3, mine));
    const DeviceValues<float> whole(device(), Floats(6, 9));
    const DeviceValues<float> other(device(), Floats(6, 9));
    void* const stream = nullptr;
    fgc_device_all_gather(comm, part.data(), whole.data(), 3, FGC_FLOAT32, stream);
    failures.expect(rank, whole.read() == Floats{0, 0, 0, 1, 1, 1}, "all-gather");
    fgc_device_all_to_all(comm, whole.data(), other.data(), 3, FGC_FLOAT32, stream);
    failures.expect(rank, other.read() == Floats(6, mine), "all-to-all");
    fgc_device_reduce_scatter(comm, whole.data(), part.data(), 3, FGC_FLOAT32, FGC_SUM, stream);
    failures.expect(rank, part.read() == Floats(3, 2 * mine), "reduce-scatter");
    fgc_device_broadcast(comm, part.data(), 3, FGC_FLOAT32, 1, stream);
    failures.expect(rank, part.read() == Floats(3, 2), "broadcast");
  });
}

TEST_CASE("requests may be freed unwaited, and after their communicator") {
  run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const DeviceValues<float> values(device(), Floats(10, 1));
    fgc_comm* group = nullptr;
    fgc_request* request = nullptr;
    failures.expect(rank, fgc_split(comm, 0, 0, &group) == FGC_OK, "a group");
    fgc_device_all_reduce_async(group, values.data(), 10, FGC_FLOAT32, FGC_SUM, nullptr, &request);
    fgc_comm_free(group);
    fgc_request_free(request);
  });
}

TEST_CASE("wrong calls are refused, and the job goes on") {
  run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const DeviceValues<float> values(device(), Floats(4, 1));
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
  });
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
  run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const auto stream = gpu::stream_of(device());
    const DeviceValues<float> values(device(), Floats(5000));
    Floats on_host(7);
    const Gradients gradients(comm, "FASTGPU_COMM_WIRE=fp16");
    gradients.add("on the device", values.data(), 5000, FGC_DEVICE);
    gradients.add("on the host", on_host.data(), 7, FGC_HOST);
    failures.expect(rank, gradients.add("nowhere", on_host.data(), 7, 5) == FGC_USAGE, "no place");
    for (int step = 0; step < 3; ++step) {
      on_host.assign(7, static_cast<float>(2 * rank));
      device().run(stream.get(), [&values, rank] {
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
  });
}

TEST_CASE("gradients on two devices of a rank are averaged together, each where it is") {
  run_job(
      2,
      [](fgc_comm* comm, std::size_t rank, Failures& failures) {
        const auto first = test::current_device();
        const auto second = std::make_shared<test::FakeDevice>();
        {
          const DeviceValues<float> here(*first, Floats(5000, static_cast<float>(rank)));
          const DeviceValues<float> there(*second, Floats(300, static_cast<float>(2 * rank)));
          const Gradients gradients(comm, "FASTGPU_COMM_NANCHECK=off");
          gradients.add("first", here.data(), 5000, FGC_DEVICE);
          test::current_device() = second;
          failures.expect(rank, gradients.add("wrong", here.data(), 5000, FGC_DEVICE) == FGC_USAGE,
                          "memory of the first, while the second is current");
          gradients.add("second", there.data(), 300, FGC_DEVICE);
          test::current_device() = first;
          for (const std::size_t id : {1, 0})
            failures.expect(
                rank, fgc_device_gradient_ready(gradients.handle, id, nullptr) == FGC_OK, "ready");
          failures.expect(rank,
                          fgc_device_gradients_wait(gradients.handle, nullptr, nullptr) == FGC_OK,
                          "step");
          failures.expect(rank, here.read() == Floats(5000, 0.5F), "the first device's average");
          failures.expect(rank, there.read() == Floats(300, 1), "the second device's average");
        }
        failures.expect(rank, second->allocated() + second->pinned() == 0, "memory is given back");
      },
      WithNccl::all);
}

TEST_CASE("what is not finite on a device is told to C") {
  run_job(2, [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    Floats numbers(100, 1);
    if (rank == 1) numbers[42] = std::numeric_limits<float>::infinity();
    const DeviceValues<float> values(device(), numbers);
    const Gradients gradients(comm, "FASTGPU_COMM_NANCHECK=skip");
    gradients.add("values", values.data(), 100, FGC_DEVICE);
    fgc_gradient_ready(gradients.handle, 0);
    fgc_outcome outcome{};
    outcome.struct_size = sizeof(outcome);
    failures.expect(rank, fgc_gradients_wait(gradients.handle, &outcome) == FGC_OK, "the step");
    failures.expect(rank, outcome.is_applied == 0 && outcome.non_finite == FGC_INFINITY, "what");
    failures.expect(rank, outcome.non_finite_rank == 1 && outcome.non_finite_index == 42, "where");
  });
}

TEST_CASE("C is told which way data goes, and why not by NCCL") {
  const auto expect_way = [](WithNccl nccl, const char* setting, int expected,
                             const std::string& expected_why) {
    const auto body = [&](fgc_comm* comm, std::size_t rank, Failures& failures) {
      int way = -1;
      const char* why = nullptr;
      failures.expect(rank, fgc_device_way_of(comm, &way, &why) == FGC_OK, "asking");
      failures.expect(rank, way == expected, "the way is " + std::to_string(way));
      failures.expect(rank, why != nullptr && why == expected_why, std::string("why: ") + why);
      failures.expect(rank, fgc_device_way_of(comm, &way, nullptr) == FGC_OK, "why is optional");
      failures.expect(rank, fgc_device_way_of(comm, nullptr, nullptr) == FGC_USAGE, "way is not");
    };
    run_job(3, body, nccl, {setting});
  };
  expect_way(WithNccl::all, "FASTGPU_COMM_DEVICE=", FGC_DEVICE_NCCL, "");
  expect_way(WithNccl::all, "FASTGPU_COMM_DEVICE=nccl", FGC_DEVICE_NCCL, "");
  expect_way(WithNccl::all, "FASTGPU_COMM_DEVICE=staged", FGC_DEVICE_STAGED,
             "FASTGPU_COMM_DEVICE is staged");
  expect_way(WithNccl::all_but_rank_1, "FASTGPU_COMM_DEVICE=auto", FGC_DEVICE_STAGED,
             "rank 1 cannot load NCCL: libnccl.so.2: no such file: install NCCL");
}

TEST_CASE("who insists on NCCL is refused where it cannot be, and the job goes on") {
  const auto body = [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const DeviceValues<float> values(device(), Floats(4, 1));
    for (int i = 0; i < 2; ++i)
      failures.expect(rank,
                      fgc_device_all_reduce(comm, values.data(), 4, FGC_FLOAT32, FGC_SUM,
                                            nullptr) == FGC_USAGE &&
                          last_error_has("rank 1 cannot load NCCL"),
                      "refused");
    failures.expect(rank, fgc_barrier(comm) == FGC_OK, "the job goes on");
  };
  run_job(2, body, WithNccl::all_but_rank_1, {"FASTGPU_COMM_DEVICE=nccl"});
}

TEST_CASE("FASTGPU_COMM_DEVICE with a value that makes no sense is refused before ranks meet") {
  const char* const settings[] = {"FASTGPU_COMM_DEVICE=fast", nullptr};
  fgc_comm* comm = nullptr;
  CHECK(fgc_init(settings, &comm) == FGC_USAGE);
  CHECK(last_error_has("FASTGPU_COMM_DEVICE is 'fast'"));
}

TEST_CASE("two ranks send to each other, staged and by NCCL") {
  for (const WithNccl nccl : {WithNccl::none, WithNccl::all}) {
    const auto body = [](fgc_comm* comm, std::size_t rank, Failures& failures) {
      const int other = rank == 0 ? 1 : 0;
      const DeviceValues<float> mine(device(), Floats(5, static_cast<float>(rank)));
      const DeviceValues<float> theirs(device(), Floats(5, -1));
      fgc_request* sent = nullptr;
      fgc_request* received = nullptr;
      fgc_device_send_async(comm, mine.data(), 5, FGC_FLOAT32, other, nullptr, &sent);
      fgc_device_recv_async(comm, theirs.data(), 5, FGC_FLOAT32, other, nullptr, &received);
      failures.expect(rank, fgc_request_wait(received) == FGC_OK, "it has come");
      fgc_request_free(sent);
      fgc_request_free(received);
      failures.expect(rank, theirs.read() == Floats(5, static_cast<float>(other)), "what came");
      const fgc_status status =
          rank == 0 ? fgc_device_send(comm, theirs.data(), 5, FGC_FLOAT32, other, nullptr)
                    : fgc_device_recv(comm, theirs.data(), 5, FGC_FLOAT32, other, nullptr);
      failures.expect(rank, status == FGC_OK && theirs.read() == Floats(5, 1), "and there");
      failures.expect(rank,
                      fgc_device_send(comm, mine.data(), 5, FGC_FLOAT32, static_cast<int>(rank),
                                      nullptr) == FGC_USAGE,
                      "not to oneself");
    };
    run_job(2, body, nccl);
  }
}

TEST_CASE("collectives and gradients go by NCCL where all have it") {
  const auto body = [](fgc_comm* comm, std::size_t rank, Failures& failures) {
    const DeviceValues<float> values(device(), Floats(4, static_cast<float>(2 * rank)));
    fgc_device_all_reduce(comm, values.data(), 4, FGC_FLOAT32, FGC_AVERAGE, nullptr);
    failures.expect(rank, values.read() == Floats(4, 1), "an average");
    const Gradients gradients(comm, nullptr);
    gradients.add("values", values.data(), 4, FGC_DEVICE);
    fgc_gradient_ready(gradients.handle, 0);
    failures.expect(rank, fgc_gradients_wait(gradients.handle, nullptr) == FGC_OK, "a step");
    failures.expect(rank, values.read() == Floats(4, 1), "its average");
  };
  run_job(2, body, WithNccl::all, {"FASTGPU_COMM_DEVICE=nccl"});
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
