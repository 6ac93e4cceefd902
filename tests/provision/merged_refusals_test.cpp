#include "provision/merged_refusals.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace fastgpu::provision {
namespace {

using Sentences = std::vector<std::string>;

TEST_SUITE_BEGIN("provision/merged_refusals");

TEST_CASE("refusals that differ in their zone alone are one sentence with all zones") {
  CHECK(
      merged_refusals(Sentences{"launching 2 big in r1a: no stock; another zone may have some",
                                "launching 2 big in r1b: no stock; another zone may have some",
                                "launching 2 big in r2c: no stock; another zone may have some"}) ==
      "launching 2 big in r1a, r1b, r2c: no stock; another zone may have some");
  CHECK(merged_refusals(Sentences{"no stock in r1a", "no stock in r10"}) == "no stock in r1a, r10");
}

TEST_CASE("other refusals are told one after the other, each once, and not too many") {
  CHECK(merged_refusals(Sentences{"no key pair", "no stock in r2a", "no key pair"}) ==
        "no key pair; and elsewhere no stock in r2a");
  CHECK(merged_refusals(
            Sentences{"in r1a: no stock", "quota of r1b is reached", "in r2a: no stock"}) ==
        "in r1a, r2a: no stock; and elsewhere quota of r1b is reached");
  CHECK(merged_refusals(Sentences{"a b c", "d e f", "g h i", "j k l", "m n o"}) ==
        "a b c; and elsewhere d e f; and elsewhere g h i; and elsewhere j k l; all 5 places that "
        "were asked refused");
  CHECK(merged_refusals(Sentences{"only this"}) == "only this");
  CHECK(merged_refusals(Sentences{}).empty());
}

TEST_CASE("the ids of requests keep no refusals apart, and only a lone refusal keeps its id") {
  CHECK(merged_refusals(Sentences{"in r1a: quota. (request 11)", "in r1b: quota. (request 22)"}) ==
        "in r1a, r1b: quota");
  CHECK(merged_refusals(Sentences{"quota (request 11); see x", "quota (request 22); see x"}) ==
        "quota (request 11); see x");
  CHECK(merged_refusals(Sentences{"in r1a: quota (request 11)", "stock (request 22)"}) ==
        "in r1a: quota (request 11); and elsewhere stock (request 22)");
}

TEST_CASE("sentences that differ in two words are not merged") {
  CHECK(merged_refusals(Sentences{"1 big in r1a: no stock", "2 big in r1b: no stock"}) ==
        "1 big in r1a: no stock; and elsewhere 2 big in r1b: no stock");
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::provision
