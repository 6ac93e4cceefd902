#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "base/quote.hpp"
#include "base/time_text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/job/job_result.hpp"
#include "cli/commands/job/job_start.hpp"
#include "cli/commands/shared/program_variables.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/commands/tool/bench_comm_job.hpp"
#include "cli/commands/tool/bench_comm_report.hpp"
#include "cli/commands/tool/bench_transport.hpp"
#include "cli/workflows/remote_target.hpp"
#include "comm/bench/bench_settings.hpp"
#include "comm/bench/models.hpp"
#include "launcher/slow_network.hpp"
#include "process/command.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostRanks = 100'000;

struct BenchCommOptions {
  std::string cluster;
  /// Arguments for the measuring program, which parses them again.
  std::vector<std::string> measured;
  std::string model;
  std::string transports;
  bool compares_codecs = false;
  std::optional<int> ranks;
  std::optional<int> per_node;
  VariableFlags variables;
  std::optional<std::chrono::milliseconds> timeout;
  bool oversubscribe = false;
};

bool is_file(const std::string& model) {
  return !model.empty() && !comm::bench::is_known_model(model);
}

std::vector<std::string> words_of(const BenchCommOptions& options) {
  std::vector<std::string> words = options.measured;
  if (options.compares_codecs) words.emplace_back("--codecs");
  if (!options.model.empty())
    words.push_back("--model=" + (is_file(options.model) ? BenchFiles::model_file(options.model)
                                                         : options.model));
  return words;
}

/// Throws for values that the nodes would refuse.
void check_bench(const BenchCommOptions& options) {
  comm::bench::settings_of({.name = "bench comm", .about = "", .options = {}}, words_of(options));
  if (!options.model.empty()) comm::bench::find_model(options.model);
}

launcher::JobSpec spec_of(const BenchCommOptions& options, const state::Environment& ours) {
  launcher::JobSpec spec;
  spec.name = parse_job_name("bench-comm");
  spec.argv = {BenchFiles::program()};
  const std::vector<std::string> words = words_of(options);
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.ranks = options.ranks;
  spec.per_node = options.per_node;
  spec.environment = variables_of(options.variables, ours);
  constexpr std::string_view kExchange = "FASTGPU_COMM_EXCHANGE";
  if (options.compares_codecs && process::variable(spec.environment, kExchange) == "gossip")
    throw Error(
        ErrorKind::usage,
        "--codecs exchanges gradients, which gossip does not: omit -e FASTGPU_COMM_EXCHANGE");
  if (options.timeout) launcher::check_timeout(*options.timeout);
  spec.timeout = options.timeout.value_or(spec.timeout);
  if (options.oversubscribe) spec.crowding = launcher::Crowding::allowed;
  launcher::validate(spec);
  return spec;
}

void show(Context& context, const BenchReport& report) {
  Ui& ui = context.ui();
  ui.end_progress();
  const Detail detail = ui.format() == Format::wide ? Detail::wide : Detail::usual;
  if (ui.for_people())
    ui.show(text_of(report, detail, ui.terminal()));
  else
    ui.show(view_of(report));
}

/// One job of a run: the transport that it measures, absent if none is named.
struct BenchPart {
  std::optional<BenchTransport> transport{};
  launcher::JobSpec spec{};
};

/// Returns the jobs of a run. Throws for what any of them could not do.
std::vector<BenchPart> parts_of(const BenchCommOptions& options, const state::Environment& ours) {
  const launcher::JobSpec spec = spec_of(options, ours);
  std::vector<BenchPart> parts;
  for (const BenchTransport transport : parse_transports(options.transports)) {
    parts.push_back({transport, spec});
    parts.back().spec.environment = variables_for(transport, spec.environment);
  }
  if (parts.empty()) parts.push_back({.spec = spec});
  return parts;
}

/// Throws if no message of the job would leave its node.
void check_leaves_node(const launcher::JobRecord& job) {
  if (job.placement.size() == 1)
    throw Error(ErrorKind::usage,
                "--transport measures what carries messages between nodes, and all ranks are on " +
                    job.placement.front().node.value +
                    ", where they share memory: use more nodes [--npernode 1]");
}

bool needs_fabric(const BenchPart& part) {
  return part.transport && uses_fabric(*part.transport, part.spec.environment);
}

/// Starts a job. Where no fabric can be had, the user reads what wants one, and what does without.
StartedJob start_measuring(Context& context, const RemoteTarget& target, const BenchPart& part,
                           const launcher::JobRecord& record) try {
  return start_job(context, target, record);
} catch (const Error& e) {
  if (!needs_fabric(part) || e.kind() != ErrorKind::capacity) throw;
  throw Error(e.kind(), lack_of_fabric(*part.transport, e.what(), launcher::kFabricIsRequired));
}

/// Returns the parts in the order in which they run. What needs a fabric comes first: that it is
/// missing is known before anything is measured.
std::vector<std::size_t> order_of(const std::vector<BenchPart>& parts) {
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_partition(order, [&](std::size_t part) { return needs_fabric(parts[part]); });
  return order;
}

/// Adds what a part has measured to the report of all.
void add(BenchReport& report, BenchReport&& part) {
  if (report.job.empty()) {
    report.job = part.job;
    report.when = part.when;
  }
  std::ranges::move(part.jobs, std::back_inserter(report.jobs));
  std::ranges::move(part.results, std::back_inserter(report.results));
}

/// Returns the command line that the page shows.
std::string command_of(const BenchCommOptions& options) {
  std::vector<std::string> words = {"fastgpu", "bench", "comm", options.cluster};
  std::ranges::copy(options.measured, std::back_inserter(words));
  if (options.compares_codecs) words.emplace_back("--codecs");
  if (!options.model.empty()) words.push_back("--model=" + options.model);
  if (!options.transports.empty()) words.push_back("--transport=" + options.transports);
  if (options.ranks) words.push_back("-np=" + std::to_string(*options.ranks));
  if (options.per_node) words.push_back("--npernode=" + std::to_string(*options.per_node));
  if (options.oversubscribe) words.emplace_back("--oversubscribe");
  return shell_join(words);
}

/// Runs one job, and adds its results to the report. Returns the job as it has ended; absent if
/// nothing reads our output any more.
std::optional<state::Job> measure(Context& context, const BenchCommOptions& options,
                                  const RemoteTarget& target, BenchPart part, BenchReport& report) {
  const BenchFiles files(
      context.state_directory(), is_file(options.model) ? options.model : "",
      needs_fabric(part) ? BenchLinkage::with_fabric : BenchLinkage::without_plugins);
  part.spec.sync = files.directory().string();
  const launcher::JobRecord record = placed_on(context, target, part.spec);
  if (part.transport) check_leaves_node(record);
  StartedJob started = start_measuring(context, target, part, record);
  context.set_stop_notice(
      "stopping job " + started.open.job.id +
      "; press Ctrl-C again to exit at once (the job then " +
      (record.spec.engine == launcher::EngineKind::mpirun ? "stops on its own)" : "goes on)"));
  BenchOutput output(context);
  auto job = follow_to_end(context, *started.engine, started.open,
                           {.on_cancel = launcher::OnCancel::stop_job}, output);
  if (!job) return job;
  if (report.job.empty()) {
    report.job = job->id;
    report.when = utc_text(job->created);
  }
  if (part.transport) report.jobs.push_back(job->id);
  for (comm::bench::BenchResult result : output.results()) {
    if (part.transport) result.transport = name_of(*part.transport);
    report.results.push_back(std::move(result));
  }
  return job;
}

int run(Context& context, const BenchCommOptions& options) {
  check_bench(options);
  const std::vector<BenchPart> parts = parts_of(options, context.environment());
  const RemoteTarget target = running_nodes(context, options.cluster);
  BenchReport report{.cluster = target.cluster.name.value,
                     .job = {},
                     .results = {},
                     .command = command_of(options)};
  std::vector<BenchReport> measured(parts.size());
  std::exception_ptr failure;
  for (const std::size_t part : order_of(parts)) {
    try {
      const auto job = measure(context, options, target, parts[part], measured[part]);
      if (!job) return kBrokenPipe;
      if (job->state != state::JobState::succeeded) throw failure_of(*job);
    } catch (const Error&) {
      failure = std::current_exception();  // Thrown once what was measured is shown.
      break;
    }
  }
  for (BenchReport& part : measured)
    add(report, std::move(part));
  if (!failure || !report.results.empty()) show(context, report);
  if (failure) std::rethrow_exception(failure);
  return 0;
}

/// Adds an option for the measuring program. The program's own parser checks its value here, too.
Argument& passed_on(Arguments& arguments, BenchCommOptions& options, const std::string& name,
                    std::string_view value, std::string_view help) {
  Argument& made = arguments.add({.name = name, .value = std::string(value)});
  made.help = help;
  made.take = [&options, name](const std::string& text) {
    options.measured.push_back(name + "=" + text);
  };
  return made;
}

template <class Names>
std::vector<std::string> names_of(const Names& items) {
  std::vector<std::string> names;
  for (const auto item : items)
    names.emplace_back(name_of(item));
  return names;
}

void describe_measured(Arguments& arguments, BenchCommOptions& options) {
  passed_on(arguments, options, "--sizes", "LEAST:MOST:FACTOR|LIST",
            "Message sizes in bytes; K, M and G are powers of 2 (8:128M:4)");
  Argument& model = arguments.add({.name = "--model", .value = "MODEL"});
  model.help = "Exchange the gradients of this model, or of a file with lines 'name elements'";
  model.values = Values::path;
  model.choices.assign(comm::bench::kModels.begin(), comm::bench::kModels.end());
  model.take = [&options](const std::string& text) { options.model = text; };
  Argument& collective =
      passed_on(arguments, options, "--collective", "LIST", "Collectives to measure (all_reduce)");
  collective.values = Values::choice;
  collective.choices = names_of(comm::bench::kCollectives);
  Argument& dtype = passed_on(arguments, options, "--dtype", "LIST", "Data types (float32)");
  dtype.values = Values::choice;
  dtype.choices = names_of(comm::bench::kTypes);
  Argument& buffers = passed_on(arguments, options, "--buffers", "WHOSE",
                                "Allocate buffers in the program or in the library (private)");
  buffers.values = Values::choice;
  buffers.choices = {"private", "heap"};
  Argument& memory = passed_on(arguments, options, "--memory", "HOW",
                               "Copy gradients into the send buffer, or write them there (copies)");
  memory.values = Values::choice;
  memory.choices = {"copies", "views"};
  Argument& transport = arguments.text(
      "--transport", "LIST", "Measure each of these networks between nodes (what jobs use)",
      options.transports);
  transport.values = Values::choice;
  for (const BenchTransport known : kBenchTransports)
    transport.choices.emplace_back(name_of(known));
  transport.take = [&options](const std::string& text) {
    parse_transports(text);
    options.transports = text;
  };
  arguments.flag("--codecs", "Exchange the model's gradients (resnet50) by each codec, and compare",
                 options.compares_codecs);
  passed_on(arguments, options, "--steps", "N", "Number of steps with a model (20)");
  passed_on(arguments, options, "--repetitions", "N",
            "Number of repetitions, of which the median is shown (7)");
  Argument& no_check = arguments.add({.name = "--no-check"});
  no_check.help = "Do not check the results";
  no_check.take = [&options](const std::string&) { options.measured.emplace_back("--no-check"); };
}

}  // namespace

Action make_bench_comm_command(Arguments& arguments) {
  auto options = std::make_shared<BenchCommOptions>();
  describe_target(arguments, options->cluster, "The nodes to measure on");
  describe_measured(arguments, *options);
  arguments.group("Rank");
  arguments
      .count("--np", "N", "Total number of ranks (one per slot)", options->ranks, 1, kMostRanks)
      .letter = "-np";
  arguments.count("--npernode", "K", "Number of ranks per node", options->per_node, 1, kMostRanks);
  arguments.flag("--oversubscribe", "Allow more ranks than slots", options->oversubscribe);
  describe_variables(arguments, options->variables, "every rank");
  arguments.group("");
  arguments.duration("--timeout", "Give up after this long", options->timeout);
  arguments.offer_page();
  return [options](Context& context) {
    if (options->compares_codecs && options->model.empty())
      options->model = comm::bench::kModels.front();
    return run(context, *options);
  };
}

}  // namespace fastgpu::cli
