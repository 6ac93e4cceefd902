#include "cli/commands/env/env_demo_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "base/counted.hpp"
#include "base/json.hpp"

namespace fastgpu::cli {
namespace {

constexpr const char* kSchema = "fastgpu.demo/1";
constexpr double kLeast = 0.95;   // Any small network reaches this accuracy on these digits.
constexpr double kApart = 0.005;  // The rounding of sums depends on the number of ranks.

struct Demo {
  std::string_view framework;
  /// The package's names in PyPI and conda. Variants for a CUDA version have it at the end:
  /// mxnet-cu112.
  std::array<std::string_view, 3> packages;
};
constexpr std::array<Demo, 5> kDemos = {
    {{"numpy", {"numpy"}},
     {"torch", {"torch", "pytorch"}},
     {"tensorflow", {"tensorflow", "tensorflow-cpu", "tensorflow-gpu"}},
     {"jax", {"jax"}},
     {"mxnet", {"mxnet"}}}};

bool is_for(const Demo& demo, const std::string& package) {
  return std::ranges::any_of(demo.packages, [&](std::string_view name) {
    return !name.empty() && (package == name || package.starts_with(std::string(name) + "-cu"));
  });
}

std::string demo_number(const char* format, double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string percent(double share) {
  return demo_number("%.2f %%", share * 100);
}

std::string ranks_of(const DemoRun& run) {
  return counted(run.ranks, "rank");
}

bool is_share(double value) {
  return value >= 0 && value <= 1;
}

}  // namespace

std::optional<DemoRun> parse_demo_report(const std::string& line) {
  if (!line.starts_with("{") || line.find(kSchema) == std::string::npos) return std::nullopt;
  const auto root = parse_json(line, "the demonstration's report");
  DemoRun run{.framework = field<std::string>(root, "framework"),
              .ranks = field<int>(root, "ranks"),
              .accuracy = field<double>(root, "accuracy"),
              .loss = field<double>(root, "loss"),
              .seconds = field<double>(root, "seconds")};
  if (!is_share(run.accuracy) || run.ranks < 1)
    throw Error(ErrorKind::remote, "the demonstration reports an accuracy of " +
                                       demo_number("%g", run.accuracy) + " on " + ranks_of(run));
  return run;
}

std::vector<std::string> demos_for(const envs::EnvironmentLock& lock) {
  std::vector<std::string> found;
  for (const Demo& demo : kDemos)
    if (std::ranges::any_of(lock.artefacts, [&](const envs::Artefact& artefact) {
          return is_for(demo, artefact.package);
        }))
      found.emplace_back(demo.framework);
  return found;
}

std::string demo_script(const std::string& framework) {
  return "share/fastgpu/demo/digits_" + framework + ".py";
}

std::string objection(const DemoRun& one, const DemoRun& many) {
  for (const DemoRun* run : {&one, &many})
    if (run->accuracy < kLeast)
      return run->framework + ": the accuracy on " + ranks_of(*run) + " is " +
             percent(run->accuracy) + ", and should be at least " + percent(kLeast);
  if (std::abs(one.accuracy - many.accuracy) > kApart)
    return one.framework + ": the accuracy is " + percent(one.accuracy) + " on " + ranks_of(one) +
           " and " + percent(many.accuracy) + " on " + ranks_of(many) +
           ", which differ by more than " + percent(kApart);
  return "";
}

View view_of(const std::string& environment, const std::vector<DemoRun>& runs) {
  View view;
  view.root = document("environment-demo");
  view.root["name"] = environment;
  view.root["runs"] = Json::array();
  view.table.columns = {{"FRAMEWORK"}, {"RANKS"}, {"ACCURACY"}, {"LOSS"}, {"SECONDS"}};
  for (const DemoRun& run : runs) {
    view.root["runs"].push_back({{"framework", run.framework},
                                 {"ranks", run.ranks},
                                 {"accuracy", run.accuracy},
                                 {"loss", run.loss},
                                 {"seconds", run.seconds}});
    view.table.rows.push_back({run.framework, std::to_string(run.ranks), percent(run.accuracy),
                               demo_number("%.4f", run.loss), demo_number("%.2f", run.seconds)});
  }
  for (const DemoRun& run : runs)
    if (view.names.empty() || view.names.back() != run.framework)
      view.names.push_back(run.framework);
  return view;
}

}  // namespace fastgpu::cli
