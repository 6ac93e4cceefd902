// Training by gossip: softmax regression on synthetic data, and on Fashion-MNIST where it is
// installed. It reaches the loss of exact averages, for any consensus step size and also where
// ranks have different classes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/gossip/gossip.hpp"
#include "fashion.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::communicators_in_process;
using test::run_ranks;

using Numbers = std::vector<float>;

constexpr int kRanks = 8;
constexpr std::size_t kBatch = 64;

/// Rows of features, one after the other, and their classes.
struct Examples {
  std::size_t width = 0;
  std::size_t classes = 0;
  Numbers features{};
  std::vector<std::size_t> labels{};

  std::size_t size() const { return labels.size(); }
  std::span<const float> row(std::size_t index) const {
    return std::span(features).subspan(index * width, width);
  }
};

/// Clouds of points around a centre for each class, which planes separate.
Examples separable_examples(std::size_t count) {
  Examples examples{.width = 60, .classes = 8};
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<Numbers> centres(examples.classes, Numbers(examples.width));
  for (Numbers& centre : centres)
    for (float& number : centre)
      number = normal(random);
  for (std::size_t i = 0; i < count; ++i) {
    examples.labels.push_back(i % examples.classes);
    for (std::size_t at = 0; at < examples.width; ++at)
      examples.features.push_back(0.5F * centres[i % examples.classes][at] + normal(random));
  }
  return examples;
}

Examples fashion_examples(const std::filesystem::path& folder) {
  const training::Dataset data = fashion::load_fashion(folder).training;
  Examples examples{.width = data.width, .classes = training::kClasses};
  const std::size_t count = std::min<std::size_t>(data.size(), 16'000);
  for (std::size_t i = 0; i < count; ++i) {
    examples.labels.push_back(data.classes[i]);
    for (const std::uint8_t pixel : data.image(i))
      examples.features.push_back(static_cast<float>(pixel) / data.brightest);
  }
  return examples;
}

/// The probabilities of the classes, and the loss.
float softmax(const Examples& examples, std::size_t index, std::span<const float> model,
              Numbers& odds) {
  const std::span<const float> row = examples.row(index);
  const std::size_t classes = examples.classes;
  std::copy_n(model.begin() + static_cast<std::ptrdiff_t>(examples.width * classes), classes,
              odds.begin());
  for (std::size_t at = 0; at < row.size(); ++at)
    for (std::size_t c = 0; c < classes; ++c)
      odds[c] += row[at] * model[at * classes + c];
  const float most = *std::ranges::max_element(odds);
  float sum = 0;
  for (float& each : odds)
    sum += each = std::exp(each - most);
  for (float& each : odds)
    each /= sum;
  return -std::log(std::max(odds[examples.labels[index]], 1e-30F));
}

double loss_of(const Examples& examples, std::span<const float> model) {
  Numbers odds(examples.classes);
  double loss = 0;
  const std::size_t count = std::min<std::size_t>(examples.size(), 4000);
  for (std::size_t i = 0; i < count; ++i)
    loss += softmax(examples, i, model, odds);
  return loss / static_cast<double>(count);
}

void descend(const Examples& examples, std::span<const std::size_t> batch, float rate,
             Numbers& model) {
  const std::size_t classes = examples.classes;
  Numbers odds(classes);
  Numbers gradient(model.size());
  for (const std::size_t index : batch) {
    softmax(examples, index, model, odds);
    odds[examples.labels[index]] -= 1;
    const std::span<const float> row = examples.row(index);
    for (std::size_t at = 0; at < row.size(); ++at)
      for (std::size_t c = 0; c < classes; ++c)
        gradient[at * classes + c] += row[at] * odds[c];
    for (std::size_t c = 0; c < classes; ++c)
      gradient[row.size() * classes + c] += odds[c];
  }
  const float scale = rate / static_cast<float>(batch.size());
  for (std::size_t i = 0; i < model.size(); ++i)
    model[i] -= scale * gradient[i];
}

enum class Shards : std::uint8_t { alike, sorted };

struct Training {
  Shards shards = Shards::alike;
  int steps = 300;
  float rate = 0.1F;
};

struct Trained {
  double loss = 0;       ///< The loss of the average model.
  double worst = 0;      ///< The largest loss of a rank's model.
  double megabytes = 0;  ///< Sent by rank 0.
  std::size_t guard_level = 0;
  std::vector<std::string> warnings{};
};

class KeptWarnings final : public GradientEvents {
 public:
  void warned(const std::string& sentence) override { sentences.push_back(sentence); }
  std::vector<std::string> sentences;
};

Trained train(const Examples& examples, const GossipSettings& settings, const Training& training) {
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(9));
  if (training.shards == Shards::sorted)
    std::ranges::stable_sort(order, {}, [&](std::size_t index) { return examples.labels[index]; });
  auto ranks = communicators_in_process(kRanks, 60s);
  std::vector<Numbers> models(kRanks);
  Trained result;
  run_ranks(ranks, [&](Communicator& comm) {
    const auto self = static_cast<std::size_t>(comm.rank().value);
    const std::size_t share = order.size() / kRanks;
    const auto mine = std::span(order).subspan(self * share, share);
    std::mt19937 random(static_cast<unsigned>(self));
    Numbers model((examples.width + 1) * examples.classes);
    KeptWarnings warnings;
    Gossip gossip(comm, settings, &warnings);
    gossip.add("model", model);
    std::vector<std::size_t> batch(kBatch);
    std::uint64_t bytes = 0;
    GossipReport report;
    for (int step = 0; step < training.steps; ++step) {
      for (std::size_t& index : batch)
        index = mine[random() % mine.size()];
      descend(examples, batch, training.rate, model);
      report = gossip.step();
      bytes += report.bytes;
    }
    models[self] = model;
    if (self != 0) return;
    result.megabytes = static_cast<double>(bytes) / 1e6;
    result.guard_level = report.guard_level;
    result.warnings = warnings.sentences;
  });
  Numbers mean(models.front().size());
  for (const Numbers& each : models) {
    result.worst = std::max(result.worst, loss_of(examples, each));
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += each[i] / kRanks;
  }
  result.loss = loss_of(examples, mean);
  return result;
}

GossipSettings exact_settings() {
  GossipSettings settings;
  settings.is_exact = true;
  return settings;
}

GossipSettings choco_settings(double part, double step_size, int guard = 8) {
  GossipSettings settings;
  settings.codec = CodecChoice{CodecId::top_k, part};
  settings.step_size = step_size;
  settings.guard = guard;
  return settings;
}

void show(const std::string& what, const Trained& trained) {
  std::string text = what + ": loss " + std::to_string(trained.loss) + ", worst " +
                     std::to_string(trained.worst) + ", " + std::to_string(trained.megabytes) +
                     " MB, guard level " + std::to_string(trained.guard_level);
  MESSAGE(text);
}

TEST_SUITE_BEGIN("comm/gossip/training");

TEST_CASE("training reaches the loss of exact averages for any step size, with far fewer bytes") {
  const Examples examples = separable_examples(4000);
  const Training training;
  const Trained exact = train(examples, exact_settings(), training);
  show("exact", exact);
  const Trained plain = train(examples, {}, training);
  show("plain", plain);
  CHECK(plain.loss < 1.05 * exact.loss);
  CHECK(plain.guard_level == 0);
  for (const double step_size : {0.02, 0.1, 0.5}) {
    CAPTURE(step_size);
    const Trained trained = train(examples, choco_settings(0.02, step_size), training);
    show("topk:0.02, step size " + std::to_string(step_size), trained);
    CHECK(trained.loss < 1.05 * exact.loss);
    CHECK(trained.worst < 2 * exact.loss);
  }
}

TEST_CASE(
    "a step size at which difference compression diverges is taken back, and this is reported") {
  const Examples examples = separable_examples(4000);
  const Training training{.steps = 400};
  const Trained exact = train(examples, exact_settings(), training);
  double alone = std::numeric_limits<double>::infinity();
  try {
    const Trained diverged = train(examples, choco_settings(0.02, 1.0, 0), training);
    show("without the guard", diverged);
    alone = diverged.worst;
  } catch (const Error& e) {
    MESSAGE(std::string(e.what()));  // A parameter is not finite.
  }
  CHECK(!(alone < 3 * exact.loss));
  const Trained guarded = train(examples, choco_settings(0.02, 1.0), training);
  show("with the guard", guarded);
  CHECK(guarded.loss < 1.1 * exact.loss);
  CHECK(guarded.worst < 2 * exact.loss);
  REQUIRE(guarded.warnings.size() > 0);
  CHECK(guarded.warnings.front().find("the consensus step size is taken back") !=
        std::string::npos);
}

TEST_CASE("with a class on each rank the guard makes codes no worse than plain averaging") {
  const Examples examples = separable_examples(4000);
  const Training training{.shards = Shards::sorted};
  const Trained plain = train(examples, {}, training);
  show("plain, sorted", plain);
  for (const double step_size : {0.02, 0.1, 0.5}) {
    CAPTURE(step_size);
    const Trained trained = train(examples, choco_settings(0.02, step_size), training);
    show("topk:0.02, sorted, step size " + std::to_string(step_size), trained);
    CHECK(trained.loss <= plain.loss);
    CHECK(1.8 * trained.megabytes < plain.megabytes);
  }
}

TEST_CASE("other codecs train as well") {
  const Examples examples = separable_examples(4000);
  const Training training;
  const Trained exact = train(examples, exact_settings(), training);
  for (const CodecId id : {CodecId::int8, CodecId::one_bit}) {
    GossipSettings settings;
    settings.codec = CodecChoice{id};
    const Trained trained = train(examples, settings, training);
    show(std::string(entry_of(id).name), trained);
    CHECK(trained.loss < 1.05 * exact.loss);
    CHECK(trained.worst < 2 * exact.loss);
  }
}

TEST_CASE(
    "Fashion-MNIST: no step size diverges or is worse than plain averaging of sorted shards") {
  const char* const given = std::getenv("FASTGPU_TEST_FASHION");
  const std::filesystem::path folder = given != nullptr ? given : fashion::kDefaultFolder;
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: " << folder.string() << " is missing (Debian: dataset-fashion-mnist)");
    return;
  }
  const Examples examples = fashion_examples(folder);
  for (const Shards shards : {Shards::alike, Shards::sorted}) {
    const Training training{.shards = shards, .steps = 300};
    const Trained exact = train(examples, exact_settings(), training);
    show("exact", exact);
    const Trained plain = train(examples, {}, training);
    show("plain", plain);
    for (const double step_size : {0.02, 0.1, 0.5}) {
      CAPTURE(step_size);
      const Trained trained = train(examples, choco_settings(0.01, step_size), training);
      show("topk:0.01, step size " + std::to_string(step_size), trained);
      CHECK(trained.loss < 1.05 * plain.loss);
      if (shards == Shards::sorted) {
        CHECK(trained.loss <= plain.loss);
        CHECK(2 * trained.megabytes < plain.megabytes);
      }
      if (shards == Shards::alike && step_size < 0.05) {
        CHECK(trained.loss < 1.05 * exact.loss);
        CHECK(20 * trained.megabytes < exact.megabytes);
      }
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
