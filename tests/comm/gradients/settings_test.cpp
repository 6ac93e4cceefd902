#include "comm/gradients/gradient_settings.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::failure_of;
using Variables = std::map<std::string, std::string>;

GradientSettings settings_of(const Variables& variables) {
  return gradient_settings([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

TEST_SUITE_BEGIN("comm/gradients/settings");

TEST_CASE("each variable sets what it is for and nothing else") {
  struct Row {
    Variables variables;
    GradientSettings expected;
  };
  using enum NonFiniteAction;
  const Row rows[] = {
      {{}, {}},
      {{{"FASTGPU_COMM_FUSION", "8MiB"}}, {.bucket = {8 << 20}}},
      {{{"PERSEUS_ALLREDUCE_FUSION", "32"}}, {.bucket = {32 << 20}}},
      {{{"FASTGPU_COMM_FUSION", "1k"}, {"PERSEUS_ALLREDUCE_FUSION", "32"}}, {.bucket = {1000}}},
      {{{"FASTGPU_COMM_WIRE", "same"}}, {}},
      {{{"FASTGPU_COMM_WIRE", "fp16"}}, {.wire = WireType::float16}},
      {{{"FASTGPU_COMM_WIRE", "bf16"}}, {.wire = WireType::bfloat16}},
      {{{"FASTGPU_COMM_WIRE", "mixed"}, {"FASTGPU_COMM_MIXED_SMALL", "4KiB"}},
       {.wire = WireType::mixed, .small = {4096}}},
      {{{"FASTGPU_COMM_MIXED_SMALL", "0"}}, {.small = {0}}},
      {{{"FASTGPU_COMM_WIRE", "int8"}},
       {.bucket = {2 << 20}, .wire = WireType::encoded, .codec = {CodecId::int8}}},
      {{{"FASTGPU_COMM_WIRE", "1bit"}},
       {.bucket = {2 << 20}, .wire = WireType::encoded, .codec = {CodecId::one_bit}}},
      {{{"FASTGPU_COMM_WIRE", "1bit"}, {"FASTGPU_COMM_FUSION", "8MiB"}},
       {.bucket = {8 << 20}, .wire = WireType::encoded, .codec = {CodecId::one_bit}}},
      {{{"FASTGPU_COMM_WIRE", "topk:0.01"}},
       {.wire = WireType::encoded, .codec = {CodecId::top_k, 0.01}}},
      {{{"FASTGPU_COMM_WIRE", "powersgd:4"}},
       {.wire = WireType::encoded, .codec = {.id = CodecId::power_sgd, .thin = 4}}},
      {{{"FASTGPU_COMM_MIXED_KEEP", "*bn*,,*.bias"}}, {.keep_float32 = {"*bn*", "*.bias"}}},
      {{{"PERSEUS_ALLREDUCE_DTYPE", "0"}}, {.wire = WireType::float16}},
      {{{"PERSEUS_ALLREDUCE_DTYPE", "1"}}, {}},
      {{{"PERSEUS_ALLREDUCE_DTYPE", "2"}}, {.wire = WireType::mixed}},
      {{{"FASTGPU_COMM_WIRE", "bf16"}, {"PERSEUS_ALLREDUCE_DTYPE", "2"}},
       {.wire = WireType::bfloat16}},
      {{{"FASTGPU_COMM_NANCHECK", "warn"}}, {.non_finite = warn}},
      {{{"FASTGPU_COMM_NANCHECK", "skip"}}, {.non_finite = skip}},
      {{{"FASTGPU_COMM_NANCHECK", "stop"}}, {.non_finite = stop}},
      {{{"FASTGPU_COMM_NANCHECK", "off"}, {"PERSEUS_ALLREDUCE_NANCHECK", "1"}}, {}},
      {{{"PERSEUS_ALLREDUCE_NANCHECK", "1"}}, {.non_finite = warn}},
      {{{"PERSEUS_ALLREDUCE_NANCHECK", "0"}}, {}},
      {{{"FASTGPU_COMM_LANES", "4"}}, {.streams = 4}},
      {{{"PERSEUS_ALLREDUCE_STREAMS", "6"}}, {.streams = 6}},
      {{{"PERSEUS_ALLREDUCE_STREAMS", "64"}}, {.streams = kMostStreams}},
      {{{"FASTGPU_COMM_TUNE", "1"}}, {.is_tuned = true}},
      {{{"FASTGPU_COMM_TUNE", "1"}, {"PERSEUS_ALLREDUCE_DISABLE_STREAM_TUNING", "1"}},
       {.is_tuned = true}},
      {{{"PERSEUS_ALLREDUCE_DISABLE_STREAM_TUNING", "1"}}, {}},
      {{{"PERSEUS_ALLREDUCE_DISABLE_STREAM_TUNING", "0"}}, {.is_tuned = true}},
      {{{"PERSEUS_ALLREDUCE_MODE", "1"}}, {}},
      {{{"FASTGPU_COMM_STALL", "2m"}}, {.stall = 2min}},
      {{{"FASTGPU_COMM_TIMELINE", "/tmp/t"}}, {.timeline = "/tmp/t"}},
      {{{"FASTGPU_COMM_COUNTERS", "/tmp/c"}}, {.counters = "/tmp/c"}},
      {{{"HOME", "/home/u"}}, {.cache = "/home/u/.cache/fastgpu/comm"}},
      {{{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/c"}}, {.cache = "/c/fastgpu/comm"}},
  };
  for (const Row& row : rows) {
    const std::string first = row.variables.empty() ? "none" : row.variables.begin()->first;
    CAPTURE(first);
    CHECK(settings_of(row.variables) == row.expected);
  }
}

TEST_CASE("what makes no sense is refused with the variable's name") {
  const Variables bad = {{"FASTGPU_COMM_FUSION", "0"},
                         {"FASTGPU_COMM_WIRE", "fp8"},
                         {"FASTGPU_COMM_NANCHECK", "yes"},
                         {"FASTGPU_COMM_LANES", "0"},
                         {"FASTGPU_COMM_TUNE", "on"},
                         {"FASTGPU_COMM_STALL", "0s"},
                         {"FASTGPU_COMM_MIXED_SMALL", "small"},
                         {"PERSEUS_ALLREDUCE_DTYPE", "3"},
                         {"PERSEUS_ALLREDUCE_MODE", "ring"},
                         {"PERSEUS_ALLREDUCE_STREAMS", "-1"},
                         {"PERSEUS_ALLREDUCE_NANCHECK", "2"},
                         {"PERSEUS_ALLREDUCE_FUSION", "32MB"},
                         {"PERSEUS_ALLREDUCE_DISABLE_STREAM_TUNING", ""}};
  for (const auto& [name, value] : bad) {
    const Error e = failure_of([&] { settings_of({{name, value}}); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find(name) == 0);
    CHECK(std::string(e.what()).find(name, 1) == std::string::npos);
  }
  CHECK(std::string(failure_of([] {
                      settings_of({{"FASTGPU_COMM_TUNE", "on"}});
                    }).what()) == "FASTGPU_COMM_TUNE is 'on', not 0 or 1");
}

TEST_CASE("a timeline and counters in one folder, where their files have one name, are refused") {
  for (const std::string same : {"/tmp/t", "/tmp/t/", "/tmp/./t"}) {
    const Error e = failure_of([&] {
      settings_of({{"FASTGPU_COMM_TIMELINE", "/tmp/t"}, {"FASTGPU_COMM_COUNTERS", same}});
    });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()) == "FASTGPU_COMM_COUNTERS is '" + same +
                                       "', the folder of FASTGPU_COMM_TIMELINE, and both write "
                                       "rank-<number>.json: name two folders");
  }
  CHECK_NOTHROW(settings_of({{"FASTGPU_COMM_TIMELINE", "t"}, {"FASTGPU_COMM_COUNTERS", "t/c"}}));
}

TEST_CASE(
    "a codec with a wrong part is refused with what is right, and other names with all names") {
  const auto refusal = [](const std::string& wire) {
    return std::string(failure_of([&] { settings_of({{"FASTGPU_COMM_WIRE", wire}}); }).what());
  };
  const std::string part = ": the part is a number above 0 and up to 0.5, such as topk:0.01";
  for (const std::string wire :
       {"topk", "topk:", "topk:0", "topk:-1", "topk:0.6", "topk:nan", "topk:0.1x"})
    CHECK(refusal(wire) == "FASTGPU_COMM_WIRE is '" + wire + "'" + part);
  CHECK(refusal("int8:0.5") ==
        "FASTGPU_COMM_WIRE is 'int8:0.5': int8 sends every number: leave the part out");
  CHECK(refusal("fp8") ==
        "FASTGPU_COMM_WIRE is 'fp8', not one of same, fp16, bf16, mixed, int8, 1bit, topk:PART, "
        "powersgd:RANK");
}

TEST_CASE("codecs encode what is large and not named, of every floating-point type but float64") {
  GradientTable table;
  table.add({.name = "fc.weight", .shape = {100, 100}});
  table.add({.name = "fc.bias", .shape = {100}});
  table.add({.name = "bn1.weight", .shape = {100, 100}});
  table.add({.name = "half", .type = ElementType::float16, .shape = {100, 100}});
  table.add({.name = "exact", .type = ElementType::float64, .shape = {100, 100}});
  table.add({.name = "fastgpu_comm.presence", .shape = {100, 100}});
  using enum ElementType;
  GradientSettings settings{.wire = WireType::encoded, .keep_float32 = {"bn?.*"}};
  CHECK(encoded_gradients(table, settings) ==
        std::vector<bool>{true, false, false, true, false, false});
  CHECK(wire_types(table, settings) ==
        std::vector<ElementType>{float32, float32, float32, float32, float64, float32});
  settings.wire = WireType::same;
  CHECK(encoded_gradients(table, settings) == std::vector<bool>(6));
  CHECK(wire_types(table, settings)[3] == float16);
}

TEST_CASE("every wire has a number of its own") {
  const auto number = [](WireType wire, CodecChoice codec = {}) {
    return number_of_wire({.wire = wire, .codec = codec});
  };
  const std::set<std::uint64_t> numbers = {number(WireType::same),
                                           number(WireType::float16),
                                           number(WireType::encoded),
                                           number(WireType::encoded, {CodecId::one_bit}),
                                           number(WireType::encoded, {CodecId::top_k, 0.01}),
                                           number(WireType::encoded, {CodecId::top_k, 0.02}),
                                           number(WireType::encoded, {CodecId::power_sgd, 0, 1}),
                                           number(WireType::encoded, {CodecId::power_sgd, 0, 2})};
  CHECK(numbers.size() == 8);
  CHECK(number(WireType::same) == number(WireType::same, {CodecId::one_bit}));
}

TEST_CASE("mixed keeps in float32 what is small and what is named") {
  GradientTable table;
  table.add({.name = "fc.weight", .shape = {100, 100}});
  table.add({.name = "fc.bias", .shape = {100}});
  table.add({.name = "bn1.weight", .shape = {100, 100}});
  table.add({.name = "exact", .type = ElementType::float64, .shape = {100, 100}});
  using enum ElementType;
  GradientSettings settings{.wire = WireType::mixed, .keep_float32 = {"bn?.*"}};
  CHECK(wire_types(table, settings) ==
        std::vector<ElementType>{float16, float32, float32, float64});
  settings.wire = WireType::bfloat16;
  CHECK(wire_types(table, settings) ==
        std::vector<ElementType>{bfloat16, bfloat16, bfloat16, float64});
}

TEST_CASE("a pattern with brackets that matches no gradient is doubted, and others are not") {
  GradientTable table;
  table.add({.name = "['dense']['bias']", .shape = {100}});
  table.add({.name = "bn1.weight", .shape = {100}});
  const auto doubt = [&](const std::string& keep, WireType wire = WireType::mixed) {
    GradientSettings settings = settings_of({{"FASTGPU_COMM_MIXED_KEEP", keep}});
    settings.wire = wire;
    return doubt_of_patterns(table, settings).value_or("");
  };
  CHECK(doubt("[") ==
        "no gradient has a name like '[' of FASTGPU_COMM_MIXED_KEEP: * is any text there and ? one "
        "character, and brackets are parts of names");
  for (const std::string pattern : {"bn[0-9]*", "{bn,ln}*", "bn\\d.*", "*.bias,*]["})
    CHECK(doubt(pattern).find("FASTGPU_COMM_MIXED_KEEP") != std::string::npos);
  CHECK(doubt("[", WireType::encoded).find("'['") != std::string::npos);
  for (const std::string pattern : {"*['bias']", "*['dense'*,*bn*", "*norm*", "", "*", "bn?.*"})
    CHECK(doubt(pattern).empty());
  CHECK(doubt("[", WireType::same).empty());
  CHECK(doubt("[", WireType::float16).empty());
}

TEST_CASE("patterns") {
  CHECK(matches("*", ""));
  CHECK(matches("*.bias", "layer.1.bias"));
  CHECK(matches("a*b*c", "aXbYbZc"));
  CHECK(matches("?n", "bn"));
  CHECK_FALSE(matches("*.bias", "layer.bias.weight"));
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("a?", "a"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
