// The variables of gossip, and which codec goes with which topology.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "comm/gossip/gossip_settings.hpp"
#include "support/failure.hpp"

namespace fastgpu::comm {
namespace {

using test::failure_of;
using test::mentions;

using Variables = std::map<std::string, std::string>;

Environment having(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

GossipSettings read(const Variables& variables) {
  return gossip_settings(having(variables));
}

TEST_SUITE_BEGIN("comm/gossip/settings");

TEST_CASE("without variables parameters are averaged in a ring, and distance is measured") {
  CHECK(read({}) == GossipSettings{});
  CHECK(read({{"FASTGPU_COMM_EXCHANGE", "gossip"}}) == GossipSettings{});
  CHECK(GossipSettings{}.guard == 8);
}

TEST_CASE("every variable is read") {
  const GossipSettings settings = read({{"FASTGPU_COMM_EXCHANGE", "gossip"},
                                        {"FASTGPU_COMM_TOPOLOGY", "hypercube"},
                                        {"FASTGPU_COMM_WIRE", "topk:0.01"},
                                        {"FASTGPU_COMM_GOSSIP_STEP", "0.25"},
                                        {"FASTGPU_COMM_GUARD", "0"}});
  CHECK(settings.topology.kind == TopologyKind::hypercube);
  CHECK(settings.codec == CodecChoice{CodecId::top_k, 0.01});
  CHECK(settings.step_size == 0.25);
  CHECK(settings.guard == 0);
  CHECK_FALSE(settings.is_exact);
  const GossipSettings exact =
      read({{"FASTGPU_COMM_EXCHANGE", "all_reduce"}, {"FASTGPU_COMM_WIRE", "fp16"}});
  CHECK(exact.is_exact);
  CHECK_FALSE(exact.codec.has_value());
}

TEST_CASE("a value that is none is refused, naming the variable and what is possible") {
  struct Row {
    std::string name;
    std::string value;
    std::string sentence;
  };
  const Row rows[] = {
      {"EXCHANGE", "gosip", "all_reduce or gossip"},
      {"TOPOLOGY", "torus", "hypercube"},
      {"WIRE", "int4", "int8, 1bit, topk:PART"},
      {"WIRE", "topk", "topk:0.01"},
      {"WIRE", "fp16", "use one of same, int8"},
      {"WIRE", "mixed", "use one of same, int8"},
      {"GOSSIP_STEP", "0", "from 0.000001 to 1"},
      {"GOSSIP_STEP", "1.5", "from 0.000001 to 1"},
      {"GOSSIP_STEP", "nan", "from 0.000001 to 1"},
      {"GOSSIP_STEP", "0.1x", "from 0.000001 to 1"},
      {"GUARD", "-1", "number of steps"},
      {"GUARD", "often", "number of steps"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CAPTURE(row.value);
    const Error e = failure_of([&] { read({{"FASTGPU_COMM_" + row.name, row.value}}); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, "FASTGPU_COMM_" + row.name));
    CHECK(mentions(e, row.sentence));
  }
}

TEST_CASE(
    "what gossip alone reads is checked as the job is joined, and the wires of gradients pass") {
  const std::pair<std::string, std::string> invalid[] = {{"FASTGPU_COMM_TOPOLOGY", "star"},
                                                         {"FASTGPU_COMM_TOPOLOGY", "random:1"},
                                                         {"FASTGPU_COMM_GOSSIP_STEP", "2"},
                                                         {"FASTGPU_COMM_GUARD", "-1"}};
  for (const auto& variable : invalid) {
    CAPTURE(variable.first);
    const Error e = failure_of([&] { check_gossip_variables(having({variable})); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, variable.first));
  }
  CHECK_NOTHROW(check_gossip_variables(having({})));
  CHECK_NOTHROW(check_gossip_variables(having({{"FASTGPU_COMM_WIRE", "fp16"}})));
  const Variables wished{{"FASTGPU_COMM_WIRE", "fp16"}, {"FASTGPU_COMM_EXCHANGE", "gossip"}};
  CHECK(mentions(failure_of([&] { check_gossip_variables(having(wished)); }), "WIRE"));
}

TEST_CASE("settings of gossip are checked by all_reduce too, and have no effect there") {
  const std::pair<std::string, std::string> invalid[] = {
      {"FASTGPU_COMM_TOPOLOGY", "nonsense"}, {"FASTGPU_COMM_WIRE", "garbage"},
      {"FASTGPU_COMM_WIRE", "topk:2"},       {"FASTGPU_COMM_GOSSIP_STEP", "2"},
      {"FASTGPU_COMM_GUARD", "x"},
  };
  for (const auto& variable : invalid) {
    CAPTURE(variable.first);
    const Error e = failure_of([&] { read({{"FASTGPU_COMM_EXCHANGE", "all_reduce"}, variable}); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(mentions(e, variable.first));
  }
  const GossipSettings plain = read({{"FASTGPU_COMM_EXCHANGE", "all_reduce"}});
  for (const std::string wire : {"topk:0.01", "topk:0.01,momentum=0.9", "powersgd:4", "mixed"})
    CHECK(read({{"FASTGPU_COMM_EXCHANGE", "all_reduce"},
                {"FASTGPU_COMM_TOPOLOGY", "hypercube"},
                {"FASTGPU_COMM_WIRE", wire},
                {"FASTGPU_COMM_GOSSIP_STEP", "0.5"},
                {"FASTGPU_COMM_GUARD", "0"}}) == plain);
}

TEST_CASE("the first variable that differs is named, and a step size without a codec does not") {
  const Variables usual = {{"FASTGPU_COMM_EXCHANGE", "gossip"},
                           {"FASTGPU_COMM_TOPOLOGY", "ring"},
                           {"FASTGPU_COMM_WIRE", "int8"},
                           {"FASTGPU_COMM_GOSSIP_STEP", "0.5"},
                           {"FASTGPU_COMM_GUARD", "8"}};
  const SharedOfGossip numbers = shared_of(read(usual));
  CHECK(differing_variable(numbers, shared_of(read(usual))).empty());
  const std::pair<std::string, std::string> others[] = {
      {"FASTGPU_COMM_EXCHANGE", "all_reduce"},
      {"FASTGPU_COMM_TOPOLOGY", "hypercube"},
      {"FASTGPU_COMM_WIRE", "1bit"},
      {"FASTGPU_COMM_GOSSIP_STEP", "0.25"},
      {"FASTGPU_COMM_GUARD", "4"},
  };
  for (const auto& [name, value] : others) {
    Variables other = usual;
    other[name] = value;
    CHECK(differing_variable(numbers, shared_of(read(other))) == name);
  }
  CHECK(shared_of(read({{"FASTGPU_COMM_GOSSIP_STEP", "0.25"}})) == shared_of(read({})));
}

TEST_CASE("an exchange of gradients is refused where gossip is wished for") {
  CHECK_NOTHROW(check_wishes_no_gossip(having({})));
  CHECK_NOTHROW(check_wishes_no_gossip(having({{"FASTGPU_COMM_EXCHANGE", "all_reduce"}})));
  const Error e = failure_of([] {
    check_wishes_no_gossip(having({{"FASTGPU_COMM_EXCHANGE", "gossip"}}));
  });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(mentions(e, "exchanges gradients, or trains in rounds of several steps"));
  CHECK(mentions(e, "fgc_gossip_create"));
}

TEST_CASE("the method follows from the weights and the codec, and what does not fit is refused") {
  GossipSettings plain;
  CHECK(method_of(plain, WeightsKind::symmetric, true) == MixMethod::averaging);
  CHECK(method_of(plain, WeightsKind::doubly_stochastic, false) == MixMethod::averaging);
  CHECK(method_of(plain, WeightsKind::column_stochastic, true) == MixMethod::push_sum);
  for (const CodecChoice codec : {CodecChoice{CodecId::int8}, CodecChoice{CodecId::one_bit},
                                  CodecChoice{CodecId::top_k, 0.1}}) {
    GossipSettings settings;
    settings.codec = codec;
    CHECK(method_of(settings, WeightsKind::symmetric, true) == MixMethod::difference);
    for (const auto kind : {WeightsKind::doubly_stochastic, WeightsKind::column_stochastic}) {
      const Error e = failure_of([&] { method_of(settings, kind, true); });
      CHECK(e.kind() == ErrorKind::usage);
      CHECK(mentions(e, entry_of(codec.id).name));
      CHECK(mentions(e, "It goes with ring, hypercube, random:K"));
    }
    CHECK(mentions(failure_of([&] { method_of(settings, WeightsKind::symmetric, false); }),
                   "whose neighbours change"));
  }
  const Error e = failure_of([] {
    gossip_settings(having({{"FASTGPU_COMM_WIRE", "powersgd:4"}}));
  });
  CHECK(mentions(e, "powersgd:4 does not go with gossip"));
  CHECK(mentions(e, "use one of same, int8, 1bit, topk:PART"));
  CHECK(mentions(failure_of([] {
                   gossip_settings(having({{"FASTGPU_COMM_WIRE", "int8,momentum=0.9"}}));
                 }),
                 "momentum, warmup and memory belong to gradients"));
  plain.is_exact = true;
  CHECK(method_of(plain, WeightsKind::column_stochastic, false) == MixMethod::exact);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
