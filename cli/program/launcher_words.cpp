#include "cli/program/launcher_words.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "base/quote.hpp"
#include "base/split.hpp"
#include "cli/program/tokens.hpp"
#include "launcher/library_settings.hpp"

namespace fastgpu::cli {
namespace {

enum class LauncherMeaning : std::uint8_t {
  option,     ///< Becomes a flag with the value.
  flag,       ///< Becomes the flag `ours`, which has its value.
  dropped,    ///< Asks for what fastgpu does anyway.
  refused,    ///< Refused; `ours` says what to do instead.
  variable,   ///< Becomes a variable for every rank with the value.
  mebibytes,  ///< Becomes a variable in bytes; the value is in MiB.
  setting,    ///< Becomes a variable for every rank; `ours` is the assignment.
};

struct LauncherFlag {
  std::string_view name;  ///< Without its dashes: one or two are the same to mpirun.
  int values = 0;         ///< The number of values.
  LauncherMeaning meaning{};
  std::string_view ours{};
};

constexpr std::string_view kNoElasticRanks =
    "a job has a fixed number of ranks (--np N); --retry N --on node-loss starts it again after "
    "the loss of a node";
constexpr std::string_view kBinding =
    "--per core|numa|socket|gpu gives each rank a part of its node and binds it there";
constexpr std::string_view kSsh =
    "leave it out: the cluster knows the ports and keys of its nodes (fastgpu get nodes -o wide)";
constexpr std::string_view kParameterFile =
    "write the parameters as variables: -x OMPI_MCA_NAME=VALUE";
constexpr std::string_view kTimes = "fastgpu logs JOB --timestamps shows the times of all lines";
constexpr std::string_view kDrawing = "--dry-run draws where each rank runs";
constexpr std::string_view kFiles = "--sync DIR copies a directory to the nodes";

struct LauncherTable {
  using enum LauncherMeaning;
  static constexpr std::array kFlags = {
      LauncherFlag{"n", 1, option, "--np"},
      LauncherFlag{"num-proc", 1, option, "--np"},
      LauncherFlag{"N", 1, option, "--npernode"},
      LauncherFlag{"npernode", 1, option, "--npernode"},
      LauncherFlag{"pernode", 0, flag, "--npernode=1"},
      LauncherFlag{"hostfile", 1, option, "--hostfile"},
      LauncherFlag{"machinefile", 1, option, "--hostfile"},
      LauncherFlag{"default-hostfile", 1, option, "--hostfile"},
      LauncherFlag{"wdir", 1, option, "--workdir"},
      LauncherFlag{"wd", 1, option, "--workdir"},
      LauncherFlag{"oversubscribe", 0, flag, "--oversubscribe"},
      LauncherFlag{"do-not-launch", 0, flag, "--dry-run"},
      LauncherFlag{"mpi", 0, flag, "--launcher=mpirun"},

      LauncherFlag{"allow-run-as-root", 0, dropped},
      LauncherFlag{"nooversubscribe", 0, dropped},
      LauncherFlag{"byslot", 0, dropped},
      LauncherFlag{"tag-output", 0, dropped},
      LauncherFlag{"noprefix", 0, dropped},
      LauncherFlag{"disable-cache", 0, dropped},

      LauncherFlag{"bynode", 0, refused, "--npernode K puts K ranks on each node"},
      LauncherFlag{"bycore", 0, refused, kBinding},
      LauncherFlag{"npersocket", 1, refused, kBinding},
      LauncherFlag{"bind-to-core", 0, refused, kBinding},
      LauncherFlag{"bind-to-socket", 0, refused, kBinding},
      LauncherFlag{"cpu-set", 1, refused, kBinding},
      LauncherFlag{"cpu-list", 1, refused, kBinding},
      LauncherFlag{"cpus-per-proc", 1, refused, kBinding},
      LauncherFlag{"cpus-per-rank", 1, refused, kBinding},
      LauncherFlag{"binding-args", 1, refused, kBinding},
      LauncherFlag{"use-hwthread-cpus", 0, refused,
                   "-H NODE:SLOTS,... sets the slots of each node"},
      LauncherFlag{"rankfile", 1, refused, "-H NODE:SLOTS,... places ranks in the order of nodes"},
      LauncherFlag{"rf", 1, refused, "-H NODE:SLOTS,... places ranks in the order of nodes"},
      LauncherFlag{"nolocal", 0, refused, "-H NODE:SLOTS,... names the nodes to use"},
      LauncherFlag{"report-bindings", 0, refused, kDrawing},
      LauncherFlag{"display-map", 0, refused, kDrawing},
      LauncherFlag{"display-allocation", 0, refused, kDrawing},
      LauncherFlag{"display", 1, refused, kDrawing},
      LauncherFlag{
          "output-filename", 1, refused,
          "the output of each rank is kept on its node; fastgpu logs JOB --rank N shows it"},
      LauncherFlag{"timestamp-output", 0, refused, kTimes},
      LauncherFlag{"prefix-output-with-timestamp", 0, refused, kTimes},
      LauncherFlag{"prefix-timestamp", 0, refused, kTimes},
      LauncherFlag{"merge-stderr-to-stdout", 0, refused,
                   "merge them in the program: -- sh -c 'PROGRAM 2>&1'"},
      LauncherFlag{"prefix", 1, refused,
                   "mpirun of the nodes' PATH is used; --environment NAME has one of its own"},
      LauncherFlag{"path", 1, refused, "-x PATH=DIR:... sets the path of the program"},
      LauncherFlag{"app", 1, refused, "a job has one program: start a job for each"},
      LauncherFlag{"am", 1, refused, kParameterFile},
      LauncherFlag{"tune", 1, refused, kParameterFile},
      LauncherFlag{"preload-binary", 0, refused, kFiles},
      LauncherFlag{"preload-files", 1, refused, kFiles},

      LauncherFlag{"gloo", 0, refused,
                   "programs that meet by libfastgpu_comm or torch.distributed start by --launcher "
                   "plain; Horovod starts by MPI, so leave it out"},
      LauncherFlag{"jsrun", 0, refused, "leave it out: mpirun starts the ranks"},
      LauncherFlag{"mpi-args", 1, refused, "write the flags of mpirun themselves"},
      LauncherFlag{"p", 1, refused, kSsh},
      LauncherFlag{"ssh-port", 1, refused, kSsh},
      LauncherFlag{"i", 1, refused, kSsh},
      LauncherFlag{"ssh-identity-file", 1, refused, kSsh},
      LauncherFlag{"start-timeout", 1, refused,
                   "leave it out: a node that does not answer ends the start within seconds"},
      LauncherFlag{"config-file", 1, refused,
                   "write its fields as variables: -x HOROVOD_NAME=VALUE"},
      LauncherFlag{"check-build", 0, refused,
                   "run it on the nodes: fastgpu run job -np 1 -- horovodrun --check-build"},
      LauncherFlag{"slots-per-host", 1, refused, "-H NODE:SLOTS,... sets the slots of each node"},
      LauncherFlag{"host-discovery-script", 1, refused, kNoElasticRanks},
      LauncherFlag{"min-np", 1, refused, kNoElasticRanks},
      LauncherFlag{"min-num-proc", 1, refused, kNoElasticRanks},
      LauncherFlag{"max-np", 1, refused, kNoElasticRanks},
      LauncherFlag{"max-num-proc", 1, refused, kNoElasticRanks},
      LauncherFlag{"elastic-timeout", 1, refused, kNoElasticRanks},
      LauncherFlag{"reset-limit", 1, refused, kNoElasticRanks},
      LauncherFlag{"blacklist-cooldown-range", 2, refused, kNoElasticRanks},

      LauncherFlag{"tcp", 0, setting, "NCCL_IB_DISABLE=1"},
      LauncherFlag{"fusion-threshold-mb", 1, mebibytes, "HOROVOD_FUSION_THRESHOLD"},
      LauncherFlag{"cycle-time-ms", 1, variable, "HOROVOD_CYCLE_TIME"},
      LauncherFlag{"cache-capacity", 1, variable, "HOROVOD_CACHE_CAPACITY"},
      LauncherFlag{"hierarchical-allreduce", 0, setting, "HOROVOD_HIERARCHICAL_ALLREDUCE=1"},
      LauncherFlag{"no-hierarchical-allreduce", 0, setting, "HOROVOD_HIERARCHICAL_ALLREDUCE=0"},
      LauncherFlag{"hierarchical-allgather", 0, setting, "HOROVOD_HIERARCHICAL_ALLGATHER=1"},
      LauncherFlag{"no-hierarchical-allgather", 0, setting, "HOROVOD_HIERARCHICAL_ALLGATHER=0"},
      LauncherFlag{"autotune", 0, setting, "HOROVOD_AUTOTUNE=1"},
      LauncherFlag{"no-autotune", 0, setting, "HOROVOD_AUTOTUNE=0"},
      LauncherFlag{"autotune-log-file", 1, variable, "HOROVOD_AUTOTUNE_LOG"},
      LauncherFlag{"autotune-warmup-samples", 1, variable, "HOROVOD_AUTOTUNE_WARMUP_SAMPLES"},
      LauncherFlag{"autotune-steps-per-sample", 1, variable, "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE"},
      LauncherFlag{"autotune-bayes-opt-max-samples", 1, variable,
                   "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES"},
      LauncherFlag{"autotune-gaussian-process-noise", 1, variable,
                   "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE"},
      LauncherFlag{"timeline-filename", 1, variable, "HOROVOD_TIMELINE"},
      LauncherFlag{"timeline-mark-cycles", 0, setting, "HOROVOD_TIMELINE_MARK_CYCLES=1"},
      LauncherFlag{"no-timeline-mark-cycles", 0, setting, "HOROVOD_TIMELINE_MARK_CYCLES=0"},
      LauncherFlag{"no-stall-check", 0, setting, "HOROVOD_STALL_CHECK_DISABLE=1"},
      LauncherFlag{"stall-check", 0, setting, "HOROVOD_STALL_CHECK_DISABLE=0"},
      LauncherFlag{"stall-check-warning-time-seconds", 1, variable,
                   "HOROVOD_STALL_CHECK_TIME_SECONDS"},
      LauncherFlag{"stall-check-shutdown-time-seconds", 1, variable,
                   "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"},
      LauncherFlag{"mpi-threads-disable", 0, setting, "HOROVOD_MPI_THREADS_DISABLE=1"},
      LauncherFlag{"no-mpi-threads-disable", 0, setting, "HOROVOD_MPI_THREADS_DISABLE=0"},
      LauncherFlag{"num-nccl-streams", 1, variable, "HOROVOD_NUM_NCCL_STREAMS"},
      LauncherFlag{"thread-affinity", 1, variable, "HOROVOD_THREAD_AFFINITY"},
      LauncherFlag{"gloo-timeout-seconds", 1, variable, "HOROVOD_GLOO_TIMEOUT_SECONDS"},
      LauncherFlag{"log-level", 1, variable, "HOROVOD_LOG_LEVEL"},
      LauncherFlag{"log-without-timestamp", 0, setting, "HOROVOD_LOG_HIDE_TIME=1"},
      LauncherFlag{"log-hide-timestamp", 0, setting, "HOROVOD_LOG_HIDE_TIME=1"},
  };
};

[[noreturn]] void refuse_launcher_flag(const std::string& spelling, std::string_view why) {
  throw Error(ErrorKind::usage, "run job: " + printable(spelling) + ": " + std::string(why));
}

/// Returns the name of a flag without its one or two dashes; empty for other words. Single letters
/// have one dash, except for mpirun's --n.
std::string_view name_of_flag(std::string_view word) {
  if (!word.starts_with('-') || word == "-" || word == "--") return {};
  const bool has_two = word.starts_with("--");
  const std::string_view name = word.substr(has_two ? 2 : 1);
  return has_two && name.size() == 1 && name != "n" ? std::string_view{} : name;
}

const LauncherFlag* find_launcher_flag(std::string_view name) {
  const auto found = std::ranges::find(LauncherTable::kFlags, name, &LauncherFlag::name);
  return name.empty() || found == LauncherTable::kFlags.end() ? nullptr : found;
}

class LauncherTranslation {
 public:
  LauncherTranslation(std::span<const std::string> words, const Arguments& arguments)
      : words_(words), arguments_(arguments) {}

  std::vector<std::string> translate() {
    while (at_ < words_.size())
      take(words_[at_++]);
    if (!hosts_.empty()) out_.push_back("--host=" + hosts_);
    return std::move(out_);
  }

  /// Returns the index of the first word that is neither a flag nor a value of one, as far as the
  /// words were translated.
  std::optional<std::size_t> first_word() const noexcept { return first_word_; }

 private:
  void take(const std::string& word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    spelling_ = word.substr(0, equals);
    attached_.reset();
    if (equals < word.size()) attached_ = word.substr(equals + 1);
    const std::string_view name = name_of_flag(spelling_);
    if (take_special(name)) return;
    if (const Argument* own = arguments_.find(spelling_)) return keep(word, *own);
    const LauncherFlag* flag = find_launcher_flag(name);
    if (flag == nullptr) {
      if (!first_word_ && !word.starts_with('-')) first_word_ = at_ - 1;
      return out_.push_back(word);
    }
    const std::vector<std::string> values = take_values(flag->values);
    apply(*flag, values);
  }

  /// Keeps a flag of ours, with the word that is its value.
  void keep(const std::string& word, const Argument& own) {
    out_.push_back(word);
    if (!own.bare() && !attached_ && has_next_value()) out_.push_back(words_[at_++]);
  }

  /// Returns true if the next word may be the value of a flag of ours: it is not a flag itself.
  bool has_next_value() const {
    return at_ < words_.size() &&
           arguments_.find(words_[at_].substr(0, words_[at_].find('='))) == nullptr;
  }

  /// Takes the flags whose values decide. Returns false for other flags.
  bool take_special(std::string_view name) {
    if (spelling_ == "-H" || name == "host" || name == "hosts")
      take_hosts();
    else if (name == "stdin" || name == "timeout")
      take_number(name);
    else if (name == "map-by")
      take_mapping(take_values(1).front());
    else if (name == "rank-by")
      take_order(take_values(1).front());
    else if (name == "bind-to")
      take_binding(take_values(1).front());
    else if (name == "mca" || name == "gmca" || name == "omca")
      take_parameter();
    else if (name == "network-interface" || name == "network-interfaces")
      take_interfaces(take_values(1).front());
    else
      return false;
    return true;
  }

  std::vector<std::string> take_values(int count) {
    if (count == 0 && attached_) refuse_launcher_flag(spelling_, "it takes no value");
    std::vector<std::string> values;
    if (attached_ && count > 0) values.push_back(*attached_);
    while (static_cast<int>(values.size()) < count) {
      if (at_ == words_.size()) refuse_launcher_flag(spelling_, "its value is missing");
      values.push_back(words_[at_++]);
    }
    if (contains(values, std::string())) refuse_launcher_flag(spelling_, "its value is empty");
    return values;
  }

  void apply(const LauncherFlag& flag, const std::vector<std::string>& values) {
    const std::string ours(flag.ours);
    switch (flag.meaning) {
      case LauncherMeaning::option:
        return out_.push_back(ours + "=" + values.front());
      case LauncherMeaning::flag:
        return out_.push_back(ours);
      case LauncherMeaning::dropped:
        return;
      case LauncherMeaning::refused:
        refuse_launcher_flag(spelling_, "not supported: " + std::string(flag.ours));
      case LauncherMeaning::variable:
        return add_variable(ours + "=" + values.front());
      case LauncherMeaning::mebibytes:
        return add_variable(ours + "=" + bytes_of(values.front()));
      case LauncherMeaning::setting:
        return add_variable(ours);
    }
  }

  void add_variable(const std::string& assignment) { out_.push_back("--env=" + assignment); }

  std::string bytes_of(const std::string& mebibytes_text) const {
    constexpr std::int64_t kMost = 1 << 20;
    const auto count = to_number<std::int64_t>(mebibytes_text);
    if (!count || *count < 0 || *count > kMost)
      refuse_launcher_flag(spelling_, "'" + printable(mebibytes_text) + "' is not a number of MiB");
    return std::to_string(*count << 20U);
  }

  /// Adds hosts to the list: mpirun may get it in several parts.
  void take_hosts() {
    if (!attached_ && !has_next_value())
      return out_.push_back("--host");  // The parser names its value.
    const std::string list = attached_ ? *attached_ : words_[at_++];
    if (list.empty()) return out_.push_back("--host=");
    append_item(hosts_, list, ",");
  }

  /// Takes a rank for standard input, or a time limit. mpirun's are plain numbers: -timeout 60 are
  /// seconds, while our own --timeout needs a unit.
  void take_number(std::string_view name) {
    const std::string ours = "--" + std::string(name);
    if (!attached_ && !has_next_value()) return out_.push_back(ours);
    std::string value = attached_ ? *attached_ : words_[at_++];
    const bool is_number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && name == "timeout" && !spelling_.starts_with("--")) value += "s";
    if (is_number && name == "stdin") {
      if (value != "0") refuse_launcher_flag(spelling_, "only rank 0, all ranks or none read it");
      value = "rank0";
    }
    out_.push_back(ours + "=" + value);
  }

  /// Takes mpirun's --map-by OBJECT[:MODIFIER,...] and --map-by ppr:N:OBJECT.
  void take_mapping(const std::string& text) {
    const auto parts = split(text, ':');
    std::size_t used = 1;
    const std::string object = ascii_lower(std::string(parts[0]));
    if (object == "ppr" && parts.size() > 2) {
      if (ascii_lower(std::string(parts[2])) != "node") refuse_launcher_flag(spelling_, kBinding);
      out_.push_back("--npernode=" + std::string(parts[1]));
      used = 3;
    } else if (object == "node") {
      refuse_launcher_flag(spelling_, "--npernode K puts K ranks on each node");
    } else if (object != "slot") {
      refuse_launcher_flag(spelling_, kBinding);
    }
    for (const std::string_view part : std::span(parts).subspan(used))
      for (const std::string_view modifier : split(part, ','))
        take_modifier(ascii_lower(std::string(modifier)));
  }

  void take_modifier(const std::string& modifier) {
    if (modifier == "oversubscribe")
      out_.emplace_back("--oversubscribe");
    else if (modifier != "nooversubscribe")
      refuse_launcher_flag(spelling_, kBinding);
  }

  void take_order(const std::string& text) const {
    if (ascii_lower(text) != "slot")
      refuse_launcher_flag(spelling_, "leave it out: ranks are numbered node by node");
  }

  void take_binding(const std::string& text) const {
    if (ascii_lower(text) != "none") refuse_launcher_flag(spelling_, kBinding);
  }

  /// Takes a parameter of Open MPI. The libraries of the ranks read it from their environment.
  void take_parameter() {
    const auto values = take_values(2);
    const std::string& key = values[0];
    const std::string& value = values[1];
    if (launcher::is_set_anyway(key, value)) return;
    const std::string_view reason = launcher::reason_against_parameter(key);
    if (!reason.empty()) refuse_launcher_flag(spelling_ + " " + key, reason);
    add_variable(std::string(launcher::kMpiPrefix) + key + "=" + value);
  }

  /// Takes the interfaces of horovodrun, which are for NCCL, Gloo and MPI.
  void take_interfaces(const std::string& names) {
    add_variable("NCCL_SOCKET_IFNAME=" + names);
    add_variable("GLOO_SOCKET_IFNAME=" + names);
    add_variable("OMPI_MCA_btl_tcp_if_include=" + names);
  }

  std::span<const std::string> words_;
  const Arguments& arguments_;
  std::size_t at_ = 0;
  std::optional<std::size_t> first_word_;
  std::string spelling_;                 ///< The flag as it was written.
  std::optional<std::string> attached_;  ///< The text behind its '='.
  std::string hosts_;
  std::vector<std::string> out_;
};

/// Returns the index of the first word without a flag, even if a later word is refused.
std::optional<std::size_t> first_word_in(std::span<const std::string> words,
                                         const Arguments& arguments) {
  LauncherTranslation translation(words, arguments);
  try {
    translation.translate();
  } catch (const Error&) {
    return translation.first_word();
  }
  return translation.first_word();
}

/// Returns true if the first fault in `words` is a flag that is unknown or not supported, or that
/// is in `before` already although it may be given once.
bool has_strange_flag(std::span<const std::string> before, std::span<const std::string> words,
                      const Arguments& arguments) try {
  std::set<const Argument*> given;
  for (const Token& token :
       tokens_of(LauncherTranslation(before, arguments).translate(), arguments))
    given.insert(token.argument);
  for (const Token& token :
       tokens_of(LauncherTranslation(words, arguments).translate(), arguments)) {
    if (token.kind == Token::Kind::word) return false;
    if (token.kind == Token::Kind::unknown_flag) return true;
    if (!token.argument->repeated && !given.insert(token.argument).second) return true;
  }
  return false;
} catch (const Error&) {
  return true;  // The translation has refused a flag.
}

/// Returns true for the words of mpirun that start several programs: "-np 2 a : -np 2 b".
bool has_several_programs(std::span<const std::string> words) {
  const auto colon = std::ranges::find(words, ":");
  return colon != words.end() && std::next(colon) != words.end() &&
         std::next(colon)->starts_with('-');
}

/// Returns a word without the value of the variable that it sets: "TOKEN=...".
std::string without_variable_value(const std::string& word) {
  std::size_t name = 0;
  if (word.starts_with("-x") || word.starts_with("-e")) name = 2;
  if (word.starts_with("--")) name = std::min(word.find('='), word.size() - 1) + 1;
  const std::size_t equals = word.find('=', name);
  const bool is_assignment =
      equals != std::string::npos && is_variable_name(word.substr(name, equals - name));
  return is_assignment ? word.substr(0, equals) + "=..." : word;
}

}  // namespace

std::string program_advice(const std::string& command, const std::vector<std::string>& words,
                           const Arguments& arguments) {
  constexpr std::size_t kMostShown = 300;
  if (contains(words, std::string("--"))) return "";
  const auto at = first_word_in(words, arguments);
  if (!at || has_several_programs(words)) return "";
  const auto before = std::span(words).first(*at);
  const auto program = std::span(words).subspan(*at);
  if (!has_strange_flag(before, program.subspan(1), arguments)) return "";
  std::string line = "fastgpu " + command;
  for (const std::string& word : before)
    line += " " + shell_quote(without_variable_value(word));
  line += " -- " + shell_join(program);
  return "; put the program after --: " + printable(line, kMostShown);
}

std::vector<std::string> translate_launcher_words(const std::vector<std::string>& words,
                                                  const Arguments& arguments) {
  const auto program = std::ranges::find(words, "--");
  if (has_several_programs({words.begin(), program}))
    throw Error(ErrorKind::usage,
                "run job: several programs (MPMD, with ':') are not supported: start a job for "
                "each, or one program that chooses by its RANK");
  auto out = LauncherTranslation({words.begin(), program}, arguments).translate();
  out.insert(out.end(), program, words.end());
  return out;
}

}  // namespace fastgpu::cli
