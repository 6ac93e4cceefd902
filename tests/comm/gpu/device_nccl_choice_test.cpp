#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "comm/gpu/choose.hpp"
#include "gpu/device_values.hpp"
#include "gpu/ranks_on_devices.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using gpu::DevicePath;
using gpu::NcclFunctions;
using gpu::NcclOffer;
using test::DeviceValues;
using test::OnRank;
using test::outcomes_on_devices;
using test::run_on_devices;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

/// Why each rank is staged ("" where it is not), or what it was refused with.
template <class Prepare>
Strings reasons(int size, Prepare prepare, std::chrono::milliseconds timeout = 10s) {
  Strings reasons(static_cast<std::size_t>(size));
  const auto outcomes = outcomes_on_devices(
      size,
      [&](const OnRank& rank) {
        gpu::DeviceSettings settings;
        prepare(rank, settings);
        const auto path = gpu::choose_path(rank.comm, rank.device, settings);
        const bool is_told = (path.nccl == nullptr) == !path.why_staged.empty();
        reasons[rank.self] = is_told ? path.why_staged : "NCCL and a reason against it, or neither";
        if (!path.nccl) return;
        const DeviceValues<float> values(*rank.device, Floats(3, 1));
        path.nccl->all_reduce(values.bytes(), {ElementType::float32, ReduceOp::sum}, nullptr)
            ->wait_here();
        if (values.read() != Floats(3, static_cast<float>(size)))
          throw Error(ErrorKind::internal, "a sum by NCCL is wrong");
        rank.comm.barrier();
      },
      timeout);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i]) reasons[i] = std::string("refused: ") + test::failure_in(outcomes[i]).what();
  return reasons;
}

Strings all(int size, const std::string& reason) {
  return Strings(static_cast<std::size_t>(size), reason);
}

void insist(gpu::DeviceSettings& settings) {
  settings.path = DevicePath::nccl;
}

TEST_SUITE_BEGIN("comm/device_nccl_choice");

TEST_CASE("ranks take NCCL where all of them have it and a GPU each") {
  const auto have = [](int version, std::uint8_t gpu, DevicePath wish = DevicePath::automatic) {
    return NcclOffer{.version = version, .device = {gpu}, .wish = wish};
  };
  constexpr int kNew = 22809;
  struct Case {
    std::vector<NcclOffer> offers;
    std::string against;
    std::optional<Rank> speaker{};
  };
  const Case cases[] = {
      {{have(kNew, 1)}, ""},
      {{have(kNew, 1), have(kNew, 2), have(kNew, 3)}, ""},
      {{have(kNew, 1),
        {.version = kNew, .device = {2}, .has_several = true, .wish = DevicePath::nccl}},
       "rank 1 has data on several GPUs, and NCCL takes one for each rank"},
      {{have(kNew, 1), have(0, 2)}, "rank 1 cannot load NCCL", Rank{1}},
      {{have(0, 1), have(0, 2)}, "rank 0 cannot load NCCL", Rank{0}},
      {{have(kNew, 1), have(kNew, 2), have(0, 0)}, "rank 2 has no data on a GPU"},
      {{have(kNew, 1), have(22005, 2)}, "rank 0 has NCCL 2.28.9, rank 1 has 2.20.5"},
      {{have(kNew, 1), have(kNew, 2), have(kNew, 2)}, "rank 1 and rank 2 use the same GPU"},
      {{have(kNew, 2, DevicePath::nccl), have(kNew, 2, DevicePath::nccl)}, ""},
  };
  for (const Case& each : cases) {
    const auto verdict = gpu::nccl_verdict(each.offers);
    CHECK(verdict.against == each.against);
    CHECK(verdict.lacks_nccl == each.speaker);
  }
}

TEST_CASE("FASTGPU_COMM_DEVICE and FASTGPU_COMM_NCCL are read, and nonsense is refused") {
  const auto read = [](const std::string& path) {
    return gpu::device_settings([path](const std::string& name) -> std::optional<std::string> {
      if (name == "FASTGPU_COMM_DEVICE" && !path.empty()) return path;
      if (name == "FASTGPU_COMM_NCCL") return "/opt/libnccl.so";
      return std::nullopt;
    });
  };
  CHECK(read("").path == DevicePath::automatic);
  CHECK(read("auto").path == DevicePath::automatic);
  CHECK(read("nccl").path == DevicePath::nccl);
  CHECK(read("staged").path == DevicePath::staged);
  CHECK(read("").nccl == "/opt/libnccl.so");
  const Error refusal = test::failure_of([&] { read("gpu"); });
  CHECK(refusal.kind() == ErrorKind::usage);
  CHECK(test::mentions(refusal, "FASTGPU_COMM_DEVICE is 'gpu', not one of auto, nccl, staged"));
}

TEST_CASE("with NCCL on all ranks data goes by it, without it on one of them it does on none") {
  for (int size = 1; size <= 4; ++size)
    CHECK(reasons(size, [](const OnRank& rank, auto&) { rank.install_nccl(); }) == all(size, ""));
  const auto all_but_one = [](const OnRank& rank, auto&) {
    if (rank.self != 1) rank.install_nccl();
  };
  CHECK(reasons(3, all_but_one) ==
        all(3, "rank 1 cannot load NCCL: libnccl.so.2: no such file: install NCCL"));
}

TEST_CASE(
    "staged is a wish that is always granted, and nccl one that may be refused on all ranks") {
  CHECK(reasons(2, [](const OnRank& rank, gpu::DeviceSettings& settings) {
          rank.install_nccl();
          settings.path = DevicePath::staged;
        }) == all(2, "FASTGPU_COMM_DEVICE is staged"));
  CHECK(reasons(2, [](const OnRank& rank, gpu::DeviceSettings& settings) {
          rank.install_nccl();
          insist(settings);
        }) == all(2, ""));
  const Strings refused = reasons(2, [](const OnRank& rank, gpu::DeviceSettings& settings) {
    if (rank.self == 0) rank.install_nccl();
    insist(settings);
  });
  CHECK(refused == all(2,
                       "refused: FASTGPU_COMM_DEVICE is nccl, but rank 1 cannot load NCCL: "
                       "libnccl.so.2: no such file: install NCCL"));
}

TEST_CASE("ranks that wish for different ways are told") {
  const Strings refused = reasons(3, [](const OnRank& rank, gpu::DeviceSettings& settings) {
    rank.install_nccl();
    if (rank.self == 2) settings.path = DevicePath::staged;
  });
  CHECK(refused == all(3,
                       "refused: FASTGPU_COMM_DEVICE is auto on rank 0, but staged on rank 2: "
                       "it is the same on all ranks"));
}

TEST_CASE("a file that is not NCCL is named, and so is one that there is not") {
  for (const std::string file : {"/nowhere/libnccl.so.2", "libc.so.6"}) {
    const Strings why = reasons(2, [&](const OnRank& rank, gpu::DeviceSettings& settings) {
      rank.install_nccl();
      if (rank.self == 1) settings.nccl = file;
    });
    CHECK(why[0] == why[1]);
    CHECK(why[0].find("rank 1 cannot load NCCL: ") == 0);
    CHECK(why[0].find(file) != std::string::npos);
  }
}

TEST_CASE("ranks with one GPU, or with several versions of NCCL, are staged") {
  test::FakeDevice shared;
  CHECK(reasons(2, [&](const OnRank& rank, auto&) {
          rank.install_nccl();
          rank.device->share_gpu_with(shared);
        }) == all(2, "rank 0 and rank 1 use the same GPU"));
  CHECK(reasons(2, [](const OnRank& rank, auto&) {
          NcclFunctions functions = test::fake_nccl();
          if (rank.self == 1)
            functions.get_version = [](int* version) {
              *version = 21405;
              return 0;
            };
          rank.install_nccl(functions);
        }) == all(2, "rank 0 has NCCL 2.28.9, rank 1 has 2.14.5"));
}

TEST_CASE("where NCCL refuses one rank, none uses it") {
  const auto refuse_rank_1 = [](const OnRank& rank, gpu::DeviceSettings&) {
    NcclFunctions functions = test::fake_nccl();
    if (rank.self == 1) functions.comm_init_rank = [](auto...) { return 2; };
    rank.install_nccl(functions);
  };
  // Nobody tells the others: they have waited for long enough after three quarters of it.
  const Strings found = reasons(3, refuse_rank_1, 2s);
  CHECK(found[1].find("cannot use NCCL: joining NCCL as rank ") != std::string::npos);
  CHECK(found == all(3, found[1]));
  const Strings refused = reasons(
      2,
      [&](const OnRank& rank, gpu::DeviceSettings& settings) {
        NcclFunctions functions = test::fake_nccl();
        functions.get_unique_id = [](auto*) { return 2; };
        rank.install_nccl(functions);
        insist(settings);
      },
      2s);
  CHECK(refused == all(2,
                       "refused: FASTGPU_COMM_DEVICE is nccl, but rank 0 cannot use NCCL: rank 0 "
                       "could not begin with NCCL: unhandled system error"));
}

TEST_CASE("a rank that goes while ranks join NCCL is named by all others, at once") {
  const auto began = std::chrono::steady_clock::now();
  const auto outcomes = outcomes_on_devices(
      3,
      [](const OnRank& rank) {
        NcclFunctions functions = test::fake_nccl();
        if (rank.self == 2)
          functions.comm_init_rank = [](auto...) -> int { throw std::string("killed"); };
        rank.install_nccl(functions);
        try {
          gpu::choose_path(rank.comm, rank.device, {});
        } catch (const std::string&) {
          const Communicator gone = std::move(rank.comm);
        }
      },
      60s);
  CHECK(std::chrono::steady_clock::now() - began < 20s);
  CHECK_FALSE(outcomes[2]);
  for (const std::size_t rank : {0, 1})
    CHECK(test::mentions(test::failure_in(outcomes[rank]), "rank 2"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
