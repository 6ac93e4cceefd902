#include "base/hex.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/hex");

TEST_CASE("each byte of any type has two lower-case digits") {
  CHECK(hex(std::string("\x00\x7f\xff", 3)) == "007fff");
  CHECK(hex(std::array<std::byte, 2>{std::byte{0xab}, std::byte{0x01}}) == "ab01");
  CHECK(hex(std::string()).empty());
}

TEST_CASE("only lower-case digits are hexadecimal, and an empty text is not") {
  CHECK(is_hex("0123456789abcdef"));
  for (const char* const text : {"", "AB", "g", "1 2", "-1"}) {
    CAPTURE(text);
    CHECK_FALSE(is_hex(text));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
