#include "launcher/array.hpp"

#include <doctest/doctest.h>

#include "support/failure.hpp"

namespace fastgpu::launcher {
namespace {

using fastgpu::test::failure_of;
using fastgpu::test::mentions;
using Indices = std::vector<int>;

std::string refusal_of(const std::string& text) {
  CAPTURE(text);
  const Error error = failure_of([&] { parse_array_range(text); });
  CHECK(error.kind() == ErrorKind::usage);
  return error.what();
}

std::string file_refusal(const std::string& text, const std::string& path = "p.csv") {
  CAPTURE(text);
  const Error error = failure_of([&] { parse_parameters(text, path); });
  CHECK(error.kind() == ErrorKind::usage);
  return error.what();
}

TEST_SUITE_BEGIN("launcher/array");

TEST_CASE("a range is a list of indices and of parts with a step, each index once and sorted") {
  CHECK(parse_array_range("3").indices == Indices{3});
  CHECK(parse_array_range("1-4").indices == Indices{1, 2, 3, 4});
  CHECK(parse_array_range("0-10:5,7,3-4,4").indices == Indices{0, 3, 4, 5, 7, 10});
  CHECK_FALSE(parse_array_range("1-4").limit);
  CHECK(parse_array_range("1-20%4").limit == 4);
  CHECK(parse_array_range("1-1000").indices.size() == 1'000);
}

TEST_CASE("a wrong range is refused with its reason") {
  CHECK(refusal_of("").find("''") != std::string::npos);
  CHECK(refusal_of("a").find("'a', which is not a number from 0 to 1000000") != std::string::npos);
  CHECK(refusal_of("1-").find("not a number") != std::string::npos);
  CHECK(refusal_of("-1").find("not a number") != std::string::npos);
  CHECK(refusal_of("1,,2").find("not a number") != std::string::npos);
  CHECK(refusal_of("5-1").find("goes from 5 down to 1") != std::string::npos);
  CHECK(refusal_of("1-5:0").find("a step of 0") != std::string::npos);
  CHECK(refusal_of("1-5%0").find("allows no job at once") != std::string::npos);
  CHECK(refusal_of("1-5%").find("not a number") != std::string::npos);
  CHECK(refusal_of("1-1001").find("1001 jobs; at most 1000") != std::string::npos);
  CHECK(refusal_of("0-600,601-1200").find("1201 jobs; at most 1000") != std::string::npos);
  CHECK(refusal_of("1-99999999999").find("not a number") != std::string::npos);
}

TEST_CASE("a plain file of parameters has a row for each line, with words as columns") {
  const auto table = parse_parameters("# rates\n0.1  32\r\n\n 0.01\t64 big \n", "rates.txt");
  REQUIRE(table.rows.size() == 2);
  CHECK(table.names.empty());
  CHECK(table.rows[0].line == "0.1  32");
  CHECK(table.rows[0].columns == std::vector<std::string>{"0.1", "32"});
  CHECK(table.rows[1].columns == std::vector<std::string>{"0.01", "64", "big"});
}

TEST_CASE("the first line of comma- and tab-separated files names the columns") {
  const auto csv = parse_parameters("LR,NOTE\n0.1,\"a, \"\"b\"\"\"\n0.2,\n", "p.csv");
  REQUIRE(csv.rows.size() == 2);
  CHECK(csv.names == std::vector<std::string>{"LR", "NOTE"});
  CHECK(csv.rows[0].columns == std::vector<std::string>{"0.1", "a, \"b\""});
  CHECK(csv.rows[1].columns == std::vector<std::string>{"0.2", ""});
  const auto tsv = parse_parameters("A\tB\n1 2\t3\n", "p.tsv");
  CHECK(tsv.rows.at(0).columns == std::vector<std::string>{"1 2", "3"});
}

TEST_CASE("a wrong file of parameters is refused with its line") {
  CHECK(file_refusal("") == "p.csv has no parameters");
  CHECK(file_refusal("\n# none\n", "p.txt") == "p.txt has no parameters");
  CHECK(file_refusal("LR\n") == "p.csv has no parameters");
  CHECK(file_refusal("A B,C\n1,2\n").starts_with("p.csv:1: 'A B' is not a variable name"));
  CHECK(file_refusal("A,A\n1,2\n") == "p.csv:1: there are two columns 'A'");
  CHECK(file_refusal("FASTGPU_RANK\n1\n").find("is set by fastgpu") != std::string::npos);
  CHECK(file_refusal("x,RANK\n1,2\n") ==
        "p.csv:1: the variable RANK is set by fastgpu for each rank and cannot be overridden");
  for (const std::string name : {"PATH", "HOME", "LD_PRELOAD"})
    CHECK(file_refusal("# the search\n" + name + ",x\n1,2\n") ==
          "p.csv:2: the variable " + name +
              " is needed to start programs: give this column another name");
  CHECK(file_refusal("A,B\n1,2\n\n3\n") ==
        "p.csv:4: the line has 1 column, and the first line has 2");
  CHECK(file_refusal("A\n\"1\n") == "p.csv:2: a quote is not closed on this line");
  CHECK(file_refusal(std::string("a\0b", 3), "p") == "p:1: the line has a NUL byte");
  CHECK(file_refusal(std::string(5'000, 'a'), "p").find("at most 4096") != std::string::npos);
}

TEST_CASE("elements have their index, and the parameters of their line as variables") {
  const auto table = parse_parameters("LR,N\n0.1,32\n0.2,64\n", "p.csv");
  const auto elements = array_elements(std::nullopt, table);
  REQUIRE(elements.size() == 2);
  CHECK(elements[1].index == 2);
  CHECK(elements[1].count == 2);
  CHECK(elements[1].variables == std::vector<std::string>{"FASTGPU_PARAMETERS=0.2,64",
                                                          "FASTGPU_PARAMETER_1=0.2", "LR=0.2",
                                                          "FASTGPU_PARAMETER_2=64", "N=64"});
  const auto one = array_elements(parse_array_range("2"), table);
  REQUIRE(one.size() == 1);
  CHECK(one[0].variables == elements[1].variables);
  CHECK(array_elements(parse_array_range("7,9"), std::nullopt).at(1).variables.empty());
}

TEST_CASE("an index without a line, and too many lines, are refused") {
  const auto table = parse_parameters("a\nb\n", "p");
  for (const char* range : {"0-1", "2-3"}) {
    const Error error = failure_of([&] { array_elements(parse_array_range(range), table); });
    CHECK(mentions(error, "lines 1 to 2"));
  }
  std::string many;
  for (int i = 0; i < 1'001; ++i)
    many += "x\n";
  const auto large = parse_parameters(many, "p");
  const Error error = failure_of([&] { array_elements(std::nullopt, large); });
  CHECK(mentions(error, "1001 jobs; at most 1000"));
}

TEST_CASE("the id of an element names its array") {
  CHECK(element_id("sweep-3", 7) == "sweep-3.7");
  CHECK(array_of("sweep-3.7") == "sweep-3");
  CHECK(array_of("sweep-3").empty());
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
