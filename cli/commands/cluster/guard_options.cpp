#include "cli/commands/cluster/guard_options.hpp"

#include "base/error.hpp"
#include "base/names.hpp"
#include "cli/commands/cluster/money_options.hpp"

namespace fastgpu::cli {
namespace {

using std::chrono::seconds;

std::chrono::milliseconds duration_of(const char* flag, const std::string& text) {
  try {
    return parse_duration(text);
  } catch (const Error& e) {
    throw Error(e.kind(), std::string(flag) + " " + e.what());
  }
}

void change(std::optional<seconds>& guard, const char* flag, const std::string& text) {
  if (text.empty()) return;
  if (text == "off") {
    guard.reset();
    return;
  }
  const auto time = std::chrono::duration_cast<seconds>(duration_of(flag, text));
  if (time < seconds(1))
    throw Error(ErrorKind::usage, std::string(flag) + " '" + printable(text) +
                                      "' is not a valid lifetime: write 30m or 8h, or off");
  guard = time;
}

/// Sets a cost limit, converted into the currency of `price`.
void change_cost(std::optional<Money>& guard, const std::string& text,
                 const std::optional<Money>& price, const provision::cloud::ExchangeRates& rates) {
  if (text.empty()) return;
  if (text == "off") {
    guard.reset();
    return;
  }
  guard = money_in("--max-cost", text, rates);
  if (price) guard = rates.in(price->currency, *guard);
}

void take_over(std::string& flag, const std::string& file) {
  if (flag.empty()) flag = file;
}

}  // namespace

void describe_guard_options(Arguments& arguments, GuardOptions& options) {
  arguments.text("--max-life", "TIME", "Delete the cluster this long after its creation [8h]",
                 options.max_life);
  arguments.text("--max-cost", "MONEY", "Delete the cluster when it has cost this much [50USD]",
                 options.max_cost);
  arguments.text("--unattended", "TIME",
                 "Delete the cluster after this long without a fastgpu command [2h]",
                 options.unattended);
  arguments.text("--idle-stop", "TIME", "Stop the cluster after it has been idle this long [30m]",
                 options.idle_stop);
  arguments.text("--idle-delete", "TIME",
                 "Delete the cluster after it has been idle or stopped this long [7d]",
                 options.idle_delete);
}

GuardOptions over_file(GuardOptions options, const provision::GuardEntry& file) {
  take_over(options.max_life, file.max_life);
  take_over(options.max_cost, file.max_cost);
  take_over(options.unattended, file.unattended);
  take_over(options.idle_stop, file.idle_stop);
  take_over(options.idle_delete, file.idle_delete);
  return options;
}

bool says_nothing(const GuardOptions& options) {
  return options.max_life.empty() && options.max_cost.empty() && options.unattended.empty() &&
         options.idle_stop.empty() && options.idle_delete.empty();
}

provision::Guards with_options(provision::Guards before, const GuardOptions& options,
                               const std::optional<Money>& price,
                               const provision::cloud::ExchangeRates& rates) {
  change(before.max_life, "--max-life", options.max_life);
  change_cost(before.max_cost, options.max_cost, price, rates);
  change(before.unattended, "--unattended", options.unattended);
  change(before.idle_stop, "--idle-stop", options.idle_stop);
  change(before.idle_delete, "--idle-delete", options.idle_delete);
  return before;
}

}  // namespace fastgpu::cli
