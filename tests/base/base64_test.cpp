#include "base/base64.hpp"

#include <doctest/doctest.h>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/base64");

TEST_CASE("the examples of RFC 4648 are encoded and decoded") {
  for (const auto& [bytes, text] :
       {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="),
        std::pair("foo", "Zm9v"), std::pair("foob", "Zm9vYg=="), std::pair("fooba", "Zm9vYmE="),
        std::pair("foobar", "Zm9vYmFy")}) {
    CHECK(base64_encode(bytes) == text);
    CHECK(base64_decode(text) == bytes);
  }
}

TEST_CASE("all bytes come back") {
  std::string bytes;
  for (int value = 0; value < 256; ++value)
    bytes += static_cast<char>(value);
  CHECK(base64_encode(bytes).find_first_of("+/") != std::string::npos);
  CHECK(base64_decode(base64_encode(bytes)) == bytes);
}

TEST_CASE("a text that is not Base64 is absent") {
  for (const char* text : {"Zg", "Zg=", "Z===", "====", "Zm9v\n", "Zm 9", "Zm9_", "Zg==Zg=="}) {
    CAPTURE(text);
    CHECK_FALSE(base64_decode(text));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
