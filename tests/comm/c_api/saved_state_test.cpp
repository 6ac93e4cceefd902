// How the C ABI gives a saved state: to ask for its length does not make it.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "comm/c_api/outcome.hpp"

namespace fastgpu::comm {
namespace {

/// An exchange that counts how often its state is made.
struct CountedExchange {
  std::size_t length = 5;
  int made = 0;

  std::size_t saved_bytes() const { return length; }
  std::vector<std::byte> saved_state() {
    ++made;
    return std::vector<std::byte>(5, std::byte{7});
  }
};

fgc_status save(CountedExchange& exchange, void* state, std::size_t room, std::size_t* bytes) {
  return c_api::saved([&]() -> CountedExchange& { return exchange; }, state, room, bytes);
}

TEST_SUITE_BEGIN("comm/c_api/saved_state");

TEST_CASE("a state is made once there is a place with room for it") {
  CountedExchange exchange;
  std::vector<std::byte> place(8);
  std::size_t bytes = 0;
  CHECK(save(exchange, nullptr, 0, nullptr) == FGC_USAGE);
  CHECK(save(exchange, nullptr, 0, &bytes) == FGC_OK);
  CHECK(bytes == 5);
  CHECK(save(exchange, place.data(), 4, &bytes) == FGC_USAGE);
  CHECK(std::string(fgc_last_error()).find("room for 4") != std::string::npos);
  CHECK(exchange.made == 0);
  CHECK(save(exchange, place.data(), place.size(), &bytes) == FGC_OK);
  CHECK(bytes == 5);
  CHECK(place[4] == std::byte{7});
  CHECK(place[5] == std::byte{0});
  CHECK(exchange.made == 1);
}

TEST_CASE("no state has no bytes, and one of another length than was said is a mistake of ours") {
  std::vector<std::byte> place(8);
  std::size_t bytes = 9;
  CountedExchange none{.length = 0};
  CHECK(save(none, place.data(), place.size(), &bytes) == FGC_OK);
  CHECK(bytes == 0);
  CHECK(none.made == 0);
  CountedExchange longer{.length = 6};
  CHECK(save(longer, place.data(), place.size(), &bytes) == FGC_INTERNAL);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
