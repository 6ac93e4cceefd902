#include "base/json_members.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace fastgpu {
namespace {

TEST_SUITE_BEGIN("base/json_members");

std::string members_of(std::string_view text) {
  std::string seen;
  const bool is_whole = for_each_json_member(text, [&](std::string_view name, std::string_view v) {
    seen += std::string(name) + "=" + std::string(v) + ";";
  });
  return is_whole ? seen : "broken";
}

std::string items_of(std::string_view text) {
  std::string seen;
  const bool is_whole =
      for_each_json_item(text, [&](std::string_view item) { seen += std::string(item) + ";"; });
  return is_whole ? seen : "broken";
}

TEST_CASE("members come with the text of their values, whatever is in it") {
  CHECK(members_of("{}").empty());
  CHECK(members_of(R"( { "a" : 1 , "b":"x" } )") == R"(a=1;b="x";)");
  CHECK(members_of(R"({"a":{"b":[1,{"c":"}]"}]},"d":[],"e":null,"f":-1.5e3,"g":true})") ==
        R"(a={"b":[1,{"c":"}]"}]};d=[];e=null;f=-1.5e3;g=true;)");
  CHECK(members_of(R"({"a\"b":"\\\"","c":""})") == R"(a\"b="\\\"";c="";)");
}

TEST_CASE("items come with their texts") {
  CHECK(items_of("[]").empty());
  CHECK(items_of(R"([1, "a,]", [2,[3]] , {"x":[4]}])") == R"(1;"a,]";[2,[3]];{"x":[4]};)");
}

TEST_CASE("a text that ends early, or is of another kind, is broken") {
  for (const char* text :
       {"", " ", "{", "[]", "1", R"({"a")", R"({"a":)", R"({"a":1)", R"({"a":1,)", R"({"a":"x})",
        R"({"a":[1})", R"({1:2})", R"({"a" 1})", R"({"a":"\)"}) {
    CAPTURE(text);
    CHECK(members_of(text) == "broken");
  }
  for (const char* text : {"", "[", "{}", "[1", "[1,", "[1,]", R"(["a)"}) {
    CAPTURE(text);
    CHECK(items_of(text) == "broken");
  }
}

TEST_CASE("the text of a string means the string") {
  CHECK(json_string(R"("plain")") == "plain");
  CHECK(json_string(R"("")") == "");
  CHECK(json_string(R"("a\n\u00e9\"")") == "a\n\xc3\xa9\"");
  CHECK_FALSE(json_string("1"));
  CHECK_FALSE(json_string(R"("\x")"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu
