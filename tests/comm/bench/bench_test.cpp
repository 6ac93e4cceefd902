// The measuring programs: what they are asked, how they measure, what they print.
#include <doctest/doctest.h>

#include <algorithm>

#include "comm/bench/bench_settings.hpp"
#include "comm/bench/busiest_node.hpp"
#include "comm/bench/measure.hpp"
#include "comm/bench/models.hpp"
#include "comm/bench/pattern.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::comm::bench {
namespace {

using test::failure_of;
using Words = std::vector<std::string>;

std::vector<std::uint64_t> counts(const std::vector<Bytes>& sizes) {
  std::vector<std::uint64_t> out;
  for (const Bytes size : sizes)
    out.push_back(size.count);
  return out;
}

BenchSettings settings(const Words& words) {
  return settings_of({.name = "test", .about = "", .options = {}}, words);
}

/// What does nothing between ranks, or does it wrong.
class FakeLibrary final : public BenchLibrary {
 public:
  std::string name() const override { return "fake"; }
  int rank() const override { return 0; }
  int ranks() const override { return size; }
  void check_has(const BenchCall& call) const override {
    if (call.type == ElementType::int8) throw Error(ErrorKind::usage, "no int8");
  }
  void run(const BenchCall& call) override {
    calls += 1;
    memories.push_back(call.in.data());
    if (call.in.data() != call.out.data()) std::ranges::copy(call.in, call.out.begin());
    if (is_broken && call.out.size() > 40) call.out[40] ^= std::byte{1};
  }
  void barrier() override { barriers += 1; }
  double greatest(double number) override { return number; }

  int size = 1;
  int calls = 0;
  std::vector<const std::byte*> memories;  ///< Where the data of each call was.
  int barriers = 0;
  bool is_broken = false;
};

std::vector<BenchResult> measured(FakeLibrary& library, const Words& words) {
  std::vector<BenchResult> results;
  measure_collectives(library, settings(words),
                      [&](const BenchResult& result) { results.push_back(result); });
  return results;
}

TEST_SUITE_BEGIN("comm/bench");

TEST_CASE("sizes are a range by factors, or a list; K, M and G are powers of 2") {
  using Counts = std::vector<std::uint64_t>;
  CHECK(counts(parse_sizes("8:2K:16")) == Counts{8, 128, 2048});
  CHECK(counts(parse_sizes("8:100:4")) == Counts{8, 32});
  CHECK(counts(parse_sizes("1K:4K")) == Counts{1024, 2048, 4096});
  CHECK(counts(parse_sizes("64k,1MB,1MiB")) == Counts{65536, 1000000, 1048576});
  CHECK(counts(parse_sizes("1G")) == Counts{1 << 30});
  CHECK(counts(parse_sizes("8:128M:4")).size() == 13);
}

TEST_CASE("sizes that make no sense are refused with what was written") {
  for (const std::string text : {"", "x", "0", "8:", ":8", "8:4", "8:16:1", "8:16:x", "8:16:2:2",
                                 "-8", "1e30", "8,,16", "8:64G:99999999", "65G", "nan"}) {
    CAPTURE(text);
    const Error e = failure_of([&] { parse_sizes(text); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with("--sizes '" + text + "': "));
  }
}

TEST_CASE("without words all_reduce is measured; with a model alone, only that") {
  CHECK(settings({}).collectives == std::vector{BenchCollective::all_reduce});
  CHECK(settings({"--model", "resnet50"}).collectives.empty());
  CHECK(settings({"--model", "x", "--sizes", "8"}).collectives ==
        std::vector{BenchCollective::all_reduce});
  CHECK(settings({"--collective=broadcast,all_reduce,broadcast"}).collectives ==
        std::vector{BenchCollective::broadcast, BenchCollective::all_reduce});
  CHECK(settings({"--dtype", "float16"}).types == std::vector{ElementType::float16});
  CHECK_FALSE(settings({"--no-check"}).is_checked);
  CHECK(settings({"--repetitions", "9"}).repetitions == 9);
  CHECK(settings({"--buffers", "heap"}).buffers == Buffers::heap);
  CHECK(settings({"--help"}).help.find("--repetitions") != std::string::npos);
}

TEST_CASE("words that make no sense are refused with the option and the value") {
  struct Case {
    Words words;
    std::string said;
  };
  const std::vector<Case> cases = {
      {{"--collective", "all_reduse"}, "did you mean all_reduce?"},
      {{"--collective", "all_reduce,"}, "''"},
      {{"--steps", "5"}, "--steps is about the gradients of a model"},
      {{"--memory=views"}, "add --model resnet50"},
      {{"--codecs", "--model=resnet50", "--dtype=int8"}, "omit --dtype"},
      {{"--dtype", "float"}, "--dtype 'float' is none of float32"},
      {{"--buffers", "mine"}, "--buffers"},
      {{"--repetitions", "0"}, "--repetitions"},
      {{"--repetitions", "x"}, "--repetitions"},
      {{"--steps", "-1"}, "--steps"},
      {{"--sizes"}, "--sizes"},
      {{"word"}, "word"},
      {{"--unknown"}, "--unknown"}};
  for (const Case& one : cases) {
    CAPTURE(one.said);
    const Error e = failure_of([&] { settings(one.words); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find(one.said) != std::string::npos);
  }
}

TEST_CASE("the well-known models have the gradients that they are known for") {
  const auto elements = [](const Model& model) {
    std::size_t sum = 0;
    for (const ModelGradient& gradient : model.gradients)
      sum += gradient.elements;
    return sum;
  };
  const Model resnet = find_model("resnet50");
  CHECK(resnet.gradients.size() == 161);
  CHECK(elements(resnet) == 25557032);
  for (const ModelGradient& gradient : resnet.gradients)
    if (gradient.rows > 0) CHECK(gradient.elements % gradient.rows == 0);
  CHECK(resnet.gradients.front().rows == 64);  // Those of conv1, 64 x 147.
  CHECK(resnet.gradients.back().rows == 0);
  const Model bert = find_model("bert-large");
  CHECK(bert.gradients.size() == 398);
  CHECK(elements(bert) == 336226108);
}

TEST_CASE("a model file has lines of a name and a number") {
  const auto model = parse_model("# a model\n\nconv.weight 9408\r\n\tconv.bias\t 64 \nfc 1", "m");
  REQUIRE(model.size() == 3);
  CHECK(model[0].name == "conv.weight");
  CHECK(model[0].elements == 9408);
  CHECK(model[1].name == "conv.bias");
  CHECK(model[2].elements == 1);
}

TEST_CASE("what is wrong in a model file is told with its line and value") {
  struct Case {
    std::string text;
    std::string said;
  };
  const std::vector<Case> cases = {
      {"a 1\nb", "m.txt:2: 'b' is not a gradient's name"},
      {"a 1 2", "m.txt:1: 'a 1 2' is not"},
      {"a 0", "m.txt:1: '0' is no number"},
      {"a -1", "m.txt:1: '-1' is no number"},
      {"\n\na 1x", "m.txt:3: '1x' is no number"},
      {"a 99999999999999999999", "m.txt:1: '99999999999999999999' is no number"},
      {"a 99999999999\nb 99999999999", "m.txt:2: a model has at most"},
      {"a 1\nb 1\na 2", "m.txt:3: gradient 'a' is in line 1 already"},
      {"# nothing\n", "m.txt has no gradients"},
      {"", "m.txt has no gradients"}};
  for (const Case& one : cases) {
    CAPTURE(one.said);
    const Error e = failure_of([&] { parse_model(one.text, "m.txt"); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).starts_with(one.said));
  }
}

TEST_CASE("a model that is neither known nor a file is not found, with the nearest name") {
  const Error e = failure_of([] { find_model("resnet5"); });
  CHECK(e.kind() == ErrorKind::not_found);
  CHECK(std::string(e.what()).find("did you mean resnet50?") != std::string::npos);
}

TEST_CASE("bandwidths are those of nccl-tests") {
  const BenchCall call{
      .collective = BenchCollective::all_reduce, .type = ElementType::float32, .in = {}, .out = {}};
  std::vector<std::byte> memory(800);
  const BenchResult result = result_of("fastgpu", placed(call, 4, {400}, memory), 4, 2e-6);
  CHECK(result.bytes.count == 400);
  CHECK(result.algbw == doctest::Approx(200e6));
  CHECK(result.busbw == doctest::Approx(300e6));
  const BenchCall there_and_back{.collective = BenchCollective::ping_pong, .in = {}, .out = {}};
  const BenchResult one_way =
      result_of("fastgpu", placed(there_and_back, 4, {400}, memory), 4, 2e-6);
  CHECK(one_way.seconds == doctest::Approx(1e-6));
  CHECK(one_way.algbw == doctest::Approx(400e6));
  CHECK(bus_factor(BenchCollective::all_gather, 4) == doctest::Approx(0.75));
  CHECK(bus_factor(BenchCollective::broadcast, 4) == doctest::Approx(1));
  CHECK(bus_factor(BenchCollective::message, 4) == doctest::Approx(1));
  CHECK(bus_factor(BenchCollective::all_reduce, 1) == doctest::Approx(0));
}

TEST_CASE("a call has whole elements, and a block for every rank") {
  const auto bytes = [](BenchCollective collective, int ranks, std::uint64_t wanted) {
    const BenchCall call{
        .collective = collective, .type = ElementType::float32, .in = {}, .out = {}};
    return usable_bytes(call, ranks, {wanted});
  };
  CHECK(bytes(BenchCollective::all_reduce, 3, 10) == 8);
  CHECK(bytes(BenchCollective::all_reduce, 3, 1) == 4);
  CHECK(bytes(BenchCollective::all_gather, 3, 8) == 12);
  CHECK(bytes(BenchCollective::all_gather, 3, 40) == 36);
  CHECK(bytes(BenchCollective::message, 3, 10) == 8);
  CHECK(bytes(BenchCollective::barrier, 3, 8) == 0);
}

TEST_CASE("a result is the same after it was a line of JSON") {
  const BenchResult plain{.library = "a \"b\"",
                          .collective = "all_reduce",
                          .dtype = "float32",
                          .ranks = 4,
                          .bytes = {1 << 20},
                          .seconds = 1.5e-3,
                          .algbw = 7e8,
                          .busbw = 1e9};
  const std::string line = to_json(plain);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(to_json(parse_result(line)) == line);
  BenchResult model = plain;
  model.collective = kGradients;
  model.step = StepFigures{"resnet50", 161, 25, 9.5, {0.25, 0.5}};
  const BenchResult again = parse_result(to_json(model));
  REQUIRE(again.step.has_value());
  CHECK(again.step->model == "resnet50");
  CHECK(again.step->seconds == std::vector{0.25, 0.5});
  CHECK(to_json(model).find("\"steps\":2") != std::string::npos);
}

TEST_CASE("a line that is no result is an error that says what is missing") {
  for (const std::string line : {"", "hello", "[]", "{}", "{\"library\": 1}", "null"})
    CHECK(failure_of([&] { parse_result(line); }).kind() == ErrorKind::remote);
  const Error e = failure_of([] { parse_result("{\"library\": \"x\"}"); });
  CHECK(std::string(e.what()).find("collective") != std::string::npos);
}

TEST_CASE("each size is checked, then timed in batches between barriers") {
  FakeLibrary library;
  const auto results = measured(library, {"--sizes", "4,5,1K", "--repetitions", "3"});
  REQUIRE(results.size() == 2);  // 4 and 5 bytes are the same: one element.
  CHECK(results[0].bytes.count == 4);
  CHECK(results[1].bytes.count == 1024);
  CHECK(results[1].library == "fake");
  CHECK(results[1].seconds > 0);
  CHECK(library.barriers == 2 * (3 + 2) + 1);
}

TEST_CASE("results can be given another name") {
  FakeLibrary library;
  const auto results =
      measured(library, {"--sizes", "4", "--label", "tuned", "--repetitions", "1"});
  REQUIRE(results.size() == 1);
  CHECK(results[0].library == "tuned");
}

TEST_CASE("what the library has not is refused before anything is measured") {
  FakeLibrary library;
  const Error e = failure_of([&] { measured(library, {"--dtype", "float32,int8"}); });
  CHECK(e.kind() == ErrorKind::usage);
  CHECK(library.calls == 0);
}

TEST_CASE("a message needs two ranks") {
  for (const std::string collective : {"message", "ping_pong"}) {
    FakeLibrary library;
    const Error e = failure_of([&] { measured(library, {"--collective", collective}); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()).find("two ranks, not 1") != std::string::npos);
    library.size = 2;
    CHECK(measured(library, {"--collective", collective, "--sizes", "8", "--repetitions", "1"})
              .front()
              .collective == collective);
  }
}

/// Two libraries that take turns, the second one with two memories.
struct TwoLibraries {
  std::vector<BenchResult> measured(const Words& words, Caches caches) {
    const BenchSettings all = settings(words);
    std::vector<std::vector<std::byte>> memories(
        3, std::vector<std::byte>(memory_in_turns(all, 1).count));
    const std::vector<Contestant> contestants = {
        {first, "a", memories[0]}, {second, "b", memories[1]}, {second, "b, its", memories[2]}};
    std::vector<BenchResult> results;
    measure_in_turns(contestants, all, caches,
                     [&](const BenchResult& result) { results.push_back(result); });
    return results;
  }

  FakeLibrary first;
  FakeLibrary second;
};

TEST_CASE("libraries take turns, each with data of its own memory") {
  TwoLibraries both;
  const auto results = both.measured(
      {"--sizes", "4,1K", "--repetitions", "2", "--calls", "3", "--no-check"}, Caches::warm);
  std::vector<std::string> names;
  for (const BenchResult& result : results)
    names.push_back(result.library + " " + std::to_string(result.bytes.count));
  CHECK(names ==
        std::vector<std::string>{"a 4", "b 4", "b, its 4", "a 1024", "b 1024", "b, its 1024"});
  // Of the last size: two rounds, a call to warm up and 3 that are timed in each turn.
  const auto& last = both.second.memories;
  const std::vector<const std::byte*> rounds(last.end() - 16, last.end());
  for (std::size_t i = 0; i < rounds.size(); ++i)
    CHECK((rounds[i] == rounds[0]) == (i / 4 % 2 == 0));
}

TEST_CASE("a call that meets cold caches is timed by itself") {
  TwoLibraries both;
  both.measured({"--sizes", "4", "--repetitions", "2", "--no-check"}, Caches::cold);
  // Two batches to warm up, then six calls, each after a barrier; and one barrier at the end.
  CHECK(both.first.barriers == 2 + 6 + 1);
}

TEST_CASE("a wrong result is found in turns, too") {
  TwoLibraries both;
  both.second.is_broken = true;
  const Error e = failure_of([&] { both.measured({"--sizes", "64"}, Caches::warm); });
  CHECK(e.kind() == ErrorKind::remote);
}

TEST_CASE("a wrong result is told with its element, unless it is not looked at") {
  FakeLibrary library;
  library.is_broken = true;
  const Words words = {"--sizes", "64", "--repetitions", "1"};
  const Error e = failure_of([&] { measured(library, words); });
  CHECK(e.kind() == ErrorKind::remote);
  CHECK(std::string(e.what()).find("all_reduce of 64 bytes of float32 on rank 0: element 10 is ") ==
        0);
  Words unchecked = words;
  unchecked.emplace_back("--no-check");
  CHECK(measured(library, unchecked).size() == 1);
}

/// All ranks of one call, carried out here in the plainest way.
struct BenchWorld {
  BenchWorld(BenchCollective collective, ElementType type, int ranks, Bytes bytes) : ranks_(ranks) {
    const BenchCall call{.collective = collective, .type = type, .in = {}, .out = {}};
    for (int rank = 0; rank < ranks; ++rank) {
      memory.emplace_back(2 * usable_bytes(call, ranks, bytes));
      calls.push_back(placed(call, ranks, bytes, memory.back()));
      fill(calls.back(), {rank, ranks});
    }
  }

  void copy(int from, std::size_t first, int to, std::size_t place, std::size_t length) {
    const auto source = calls[static_cast<std::size_t>(from)].in.subspan(first, length);
    std::ranges::copy(source, calls[static_cast<std::size_t>(to)].out.begin() +
                                  static_cast<std::ptrdiff_t>(place));
  }

  void check_all() const {
    for (int rank = 0; rank < ranks_; ++rank)
      check(calls[static_cast<std::size_t>(rank)], {rank, ranks_});
  }

  int ranks_;
  std::vector<std::vector<std::byte>> memory;
  std::vector<BenchCall> calls;
};

TEST_CASE("the check knows what copies must leave, and where") {
  for (const int ranks : {1, 2, 3, 5}) {
    BenchWorld gather(BenchCollective::all_gather, ElementType::float16, ranks, {40'000});
    BenchWorld exchange(BenchCollective::all_to_all, ElementType::int32, ranks, {40'000});
    const std::size_t piece = gather.calls[0].in.size();
    const std::size_t block = exchange.calls[0].in.size() / static_cast<std::size_t>(ranks);
    for (int from = 0; from < ranks; ++from)
      for (int to = 0; to < ranks; ++to) {
        const auto f = static_cast<std::size_t>(from);
        const auto t = static_cast<std::size_t>(to);
        gather.copy(from, 0, to, f * piece, piece);
        exchange.copy(from, t * block, to, f * block, block);
      }
    gather.check_all();
    exchange.check_all();
    if (ranks == 1) continue;
    gather.copy(0, 0, 1, piece, piece);  // Rank 0's data where rank 1's belongs.
    CHECK_THROWS_AS(gather.check_all(), Error);
  }
}

TEST_CASE("a message leaves rank 0's data on rank 1, and nothing elsewhere") {
  BenchWorld message(BenchCollective::message, ElementType::float32, 3, {40'000});
  CHECK_THROWS_AS(message.check_all(), Error);
  message.copy(0, 0, 1, 0, message.calls[0].in.size());
  message.check_all();
}

TEST_CASE("a message there and back must have come back") {
  BenchWorld there(BenchCollective::ping_pong, ElementType::float32, 3, {40'000});
  there.copy(0, 0, 1, 0, there.calls[0].in.size());
  CHECK_THROWS_AS(there.check_all(), Error);
  there.copy(0, 0, 0, 0, there.calls[0].in.size());
  there.check_all();
}

TEST_CASE("the check knows the sums in every type") {
  for (const ElementType type : kTypes) {
    CAPTURE(std::string(name_of(type)));
    constexpr int kRanks = 7;
    BenchWorld world(BenchCollective::all_reduce, type, kRanks, {100'001});
    std::vector<std::byte> sum(world.calls[0].in.begin(), world.calls[0].in.end());
    for (int rank = 1; rank < kRanks; ++rank)
      reduce_into(sum, world.calls[static_cast<std::size_t>(rank)].in, {type, ReduceOp::sum});
    for (const BenchCall& call : world.calls)
      std::ranges::copy(sum, call.out.begin());
    world.check_all();
    world.calls[3].out[sum.size() - 1] ^= std::byte{0x40};
    CHECK_THROWS_AS(world.check_all(), Error);
  }
}

TEST_CASE("the link of a node carries the bytes of all of its ranks") {
  const Topology nodes{.nodes = {{Rank{0}, Rank{3}}, {Rank{1}}, {Rank{2}}}};
  const std::vector<double> sent{100, 150, 20, 90};
  CHECK(sent_by_busiest_node(nodes, sent) == 190);
  CHECK(sent_by_busiest_node(filled_nodes(4, 1), sent) == 150);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm::bench
