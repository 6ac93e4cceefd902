#include "comm/bench/bench_settings.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"

namespace fastgpu::comm::bench {
namespace {

constexpr int kMostSteps = 100'000;
constexpr int kMostRepetitions = 10'000;
constexpr int kMostCalls = 10'000;

[[noreturn]] void refuse(const std::string& option, const std::string& word,
                         const std::vector<std::string>& known) {
  const std::string all = joined(known);
  const std::string near = nearest_name(word, known);
  throw Error(ErrorKind::usage, option + " '" + printable(word) + "' is none of " + all +
                                    (near.empty() ? "" : "; did you mean " + near + "?"));
}

/// Parses the items of "all_reduce,broadcast"; `known` lists all that exist.
template <class Items>
auto list_of(const std::string& option, const std::string& text, const Items& known) {
  std::vector<typename Items::value_type> items;
  std::vector<std::string> names;
  for (const auto item : known)
    names.emplace_back(name_of(item));
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const std::string word = text.substr(from, end - from);
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) refuse(option, word, names);
    const auto item = known[static_cast<std::size_t>(found - names.begin())];
    if (!contains(items, item)) items.push_back(item);
    from = end + 1;
  }
  return items;
}

void add_lists(CLI::App& app, BenchSettings& settings) {
  app.add_option_function<std::string>(
      "--sizes", [&](const std::string& text) { settings.sizes = parse_sizes(text); },
      "Bytes: LEAST:MOST:FACTOR or a list (8:128M:4)");
  app.add_option_function<std::string>(
      "--collective",
      [&](const std::string& text) {
        settings.collectives = list_of("--collective", text, kCollectives);
      },
      "One or a list (all_reduce)");
  app.add_option_function<std::string>(
      "--dtype",
      [&](const std::string& text) { settings.types = list_of("--dtype", text, kTypes); },
      "One or a list (float32)");
}

void add_single(CLI::App& app, BenchSettings& settings) {
  app.add_option_function<std::string>(
         "--buffers",
         [&](const std::string& text) {
           settings.buffers = text == "heap" ? Buffers::heap : Buffers::own;
         },
         "Data in the program's own memory, or in the library's")
      ->check(CLI::IsMember({"private", "heap"}));
  app.add_option("--model", settings.model,
                 "Exchange these gradients: resnet50, bert-large or a file");
  app.add_option_function<std::string>(
         "--memory",
         [&](const std::string& text) {
           settings.handing = text == "views" ? Handing::views : Handing::copies;
         },
         "How gradients get into the library: copied, or written to its views")
      ->check(CLI::IsMember({"copies", "views"}));
  app.add_flag("--codecs", settings.compares_codecs,
               "Exchange the model's gradients by each codec in turn");
  app.add_option("--steps", settings.steps, "Exchanges of the model's gradients (20)")
      ->check(CLI::Range(1, kMostSteps));
  app.add_option("--repetitions", settings.repetitions, "Batches of which the median is taken (7)")
      ->check(CLI::Range(1, kMostRepetitions));
  app.add_option("--calls", settings.calls, "Calls in a batch (as many as take 25 ms)")
      ->check(CLI::Range(1, kMostCalls));
  app.add_flag_callback(
      "--no-check", [&] { settings.is_checked = false; },
      "Do not check the results before the timing");
  app.add_option("--label", settings.label, "What results are called (the library's name)");
  app.add_flag("--links", settings.reports_links,
               "Print the counts of each network to stderr at the end, on every rank");
  app.add_flag("--print-model", settings.only_prints_model,
               "Print the model's gradients as a model file, and end");
}

}  // namespace

BenchSettings settings_of(const BenchProgram& program, std::span<const std::string> words) {
  BenchSettings settings;
  CLI::App app(program.about, program.name);
  add_lists(app, settings);
  add_single(app, settings);
  for (const OwnOption& option : program.options)
    app.add_option(option.name, *option.value, option.help);
  try {
    // CLI11 takes them in reverse.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    settings.help = app.help();
  } catch (const CLI::ParseError& e) {
    throw Error(ErrorKind::usage, e.what());
  }
  if (settings.compares_codecs && settings.model.empty())
    throw Error(ErrorKind::usage,
                "--codecs measures the gradients of a model: add --model resnet50");
  for (const char* option : {"--steps", "--memory"})
    if (settings.model.empty() && app.count(option) > 0)
      throw Error(ErrorKind::usage,
                  std::string(option) + " is about the gradients of a model: add --model resnet50");
  for (const char* option : {"--collective", "--dtype", "--sizes", "--buffers"})
    if (settings.compares_codecs && app.count(option) > 0)
      throw Error(ErrorKind::usage,
                  "--codecs measures the gradients of a model alone: omit " + std::string(option));
  const bool only_model = !settings.model.empty() && app.count("--sizes") == 0 &&
                          app.count("--dtype") == 0 && app.count("--buffers") == 0;
  if (settings.collectives.empty() && !only_model)
    settings.collectives = {BenchCollective::all_reduce};
  return settings;
}

}  // namespace fastgpu::comm::bench
