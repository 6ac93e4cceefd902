// Threads that a limit of the system refuses.
#include "comm/common/start_thread.hpp"

#include <doctest/doctest.h>
#include <pthread.h>

#include <string>
#include <vector>

#include "support/connect_in_process.hpp"
#include "support/failure.hpp"
#include "support/gradient_steps.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using test::mentions;

/// Gives new threads a stack that no address space has while it lives.
class NoRoomForThreads {
 public:
  NoRoomForThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  NoRoomForThreads(const NoRoomForThreads&) = delete;
  NoRoomForThreads& operator=(const NoRoomForThreads&) = delete;
  ~NoRoomForThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_{};
};

TEST_SUITE_BEGIN("comm/start_thread");

TEST_CASE("a thread that cannot start is an error of this machine, with the limits to look at") {
  const NoRoomForThreads no_room;
  const Error error = failure_of([] { start_thread([](const std::stop_token&) {}); });
  CHECK(error.kind() == ErrorKind::local);
  CHECK(mentions(error, "cannot start a thread (see ulimit -u"));
  CHECK(mentions(error, "Resource temporarily unavailable"));
}

TEST_CASE("a call that finds no room for the engine's thread has begun nothing") {
  auto ranks = test::communicators_in_process(2, 10s);
  std::vector<std::string> sentences(2);
  {
    const NoRoomForThreads no_room;
    for (Communicator& comm : ranks) {
      std::vector<float> numbers(4, 1);
      const Error error = failure_of([&] {
        comm.start_all_reduce(std::as_writable_bytes(std::span(numbers)),
                              {ElementType::float32, ReduceOp::sum});
      });
      CHECK(error.kind() == ErrorKind::local);
      CHECK_MESSAGE(mentions(error, "cannot start a thread"), error.what());
    }
  }
  std::vector<float> sums(2);
  test::run_ranks(ranks, [&](Communicator& comm) {
    float one = 1;
    comm.all_reduce(std::span(&one, 1), ReduceOp::sum);
    sums[test::index_of(comm)] = one;
  });
  CHECK(sums == std::vector<float>(2, 2));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
