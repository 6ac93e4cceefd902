// `guard-set`, `guard-run`, `guard-show`: the guard, which powers the node off at its time.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "agent/files/disk.hpp"
#include "agent/guard/guard_unit.hpp"
#include "agent/guard/node_activity.hpp"
#include "agent/guard/spot_notice.hpp"
#include "agent/jobs/job_notes.hpp"
#include "agent/options.hpp"
#include "agent/subcommands.hpp"
#include "base/numbers.hpp"
#include "base/time_text.hpp"
#include "process/capture.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::size_t kLongestOrder = 65'536;
constexpr milliseconds kGlance{1'000};
constexpr const char* kUnit = "/etc/systemd/system/fastgpu-guard.service";

std::int64_t guard_now_s() {
  return now_ns() / 1'000'000'000;
}

/// Returns a time in UTC: "2026-11-22 07:18:00Z".
std::string time_text(std::int64_t seconds) {
  return utc_text(std::chrono::system_clock::from_time_t(seconds), "%Y-%m-%d %H:%M:%SZ");
}

void guard_pause(milliseconds duration) {
  ::poll(nullptr, 0, static_cast<int>(duration.count()));
}

std::optional<GuardOrder> read_order(const fs::path& place) {
  const auto text = read_file(place / "order", kLongestOrder);
  if (!text) return std::nullopt;
  return parse_guard_order(*text);
}

std::string own_program() {
  return fs::read_symlink("/proc/self/exe").string();
}

/// Returns true if systemd can run the guard, and restart it after reboots and kills.
bool has_systemd() {
  return ::geteuid() == 0 && fs::is_directory("/run/systemd/system");
}

/// Runs a program and returns its exit code; 127 if it is missing.
int run_quietly(std::vector<std::string> argv) try {
  process::Command command{.argv = std::move(argv)};
  command.in.mode = command.out.mode = command.err.mode = process::StreamMode::null;
  command.environment = process::current_environment();
  process::set_variable(*command.environment,
                        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  return process::Child(command).wait().code;
} catch (const Error&) {
  return 127;
}

void start_unit() {
  const char* home = ::getenv("HOME");
  write_atomically(kUnit, guard_unit(home == nullptr ? "/root" : home, own_program()), 0644);
  run_quietly({"systemctl", "daemon-reload"});
  const int enabled = run_quietly({"systemctl", "enable", "fastgpu-guard.service"});
  const int started = run_quietly({"systemctl", "restart", "fastgpu-guard.service"});
  if (enabled != 0 || started != 0)
    throw Error(ErrorKind::local, host_name() + ": systemd does not start fastgpu-guard.service");
}

void start_alone() {
  process::Command command{.argv = {own_program(), "guard-run"}};
  command.in.mode = command.out.mode = command.err.mode = process::StreamMode::null;
  command.grouping = process::Grouping::session;
  process::Child(command).release();
}

/// Stops the running guard, if any.
void stop_guard(const fs::path& place) {
  if (has_systemd() && fs::exists(kUnit)) {
    run_quietly({"systemctl", "disable", "--now", "fastgpu-guard.service"});
    fs::remove(kUnit);
  }
  for (int look = 0; look < 100 && !try_lock(place / "lock"); ++look) {
    const std::string text = read_file(place / "pid").value_or("");
    const pid_t pid = leading_number<pid_t>(text).value_or(0);
    if (pid > 1) ::kill(pid, SIGTERM);  // The file is missing if the guard has only just started.
    guard_pause(milliseconds(20));
  }
}

/// Observes the node, records the observations, and powers the node off at its time.
class Guard {
 public:
  explicit Guard(fs::path place) : place_(std::move(place)), before_(observe_node()) {
    watch_.idle_since = watched_ = guard_now_s();
  }

  void look(const GuardOrder& order) {
    NodeActivity now = observe_node();
    auto wakings = wakings_of(before_, now, ::getpid());
    watch_.looked = guard_now_s();
    keep_beginnings(wakings, watch_.wakings, watch_.looked);
    watch_.wakings = std::move(wakings);
    watch_.idle_since = idle_since(watch_.wakings, watch_.idle_since);
    set_power_off(watch_, order, std::max(last_contact(now), watched_));
    look_for_notice(order);
    before_ = std::move(now);
    write_atomically(place_ / "watch", to_text(watch_));
  }

  bool is_time() const { return watch_.powers_off != 0 && guard_now_s() >= watch_.powers_off; }

  /// Cancels another planned shutdown. Our time replaces the one that the machine has set at its
  /// first boot, which may still be in progress.
  void take_over_shutdown() const {
    constexpr std::int64_t kFirstBoot = 600;
    const bool is_planned = fs::exists("/run/systemd/shutdown/scheduled");
    if (is_planned && guard_now_s() - watched_ < kFirstBoot) run_quietly({"shutdown", "-c"});
  }

 private:
  void look_for_notice(const GuardOrder& order) {
    if (order.cloud.empty()) return;
    const SpotNotice notice = spot_notice(order.cloud, order.metadata);
    watch_.taken_back = notice.taken_back;
    watch_.at_risk = notice.at_risk;
    if (notice.taken_back == 0) return;
    const std::string when = time_text(notice.taken_back);
    tell_jobs(when, "node " + host_name() + " is taken back at " + when + " by the cloud");
  }

  fs::path place_;
  NodeActivity before_;
  NodeWatch watch_;
  std::int64_t watched_ = 0;  ///< The start of the guard, which counts as a contact.
};

NodeWatch glance(const std::optional<GuardOrder>& order) {
  const NodeActivity before = observe_node();
  guard_pause(kGlance);
  const NodeActivity now = observe_node();
  NodeWatch watch{.looked = guard_now_s()};
  watch.wakings = wakings_of(before, now, ::getpid());
  keep_beginnings(watch.wakings, {}, watch.looked);
  if (order) set_power_off(watch, {.ends = order->ends, .off = order->off}, 0);
  return watch;
}

}  // namespace

int run_guard_set(Arguments arguments) {
  OptionReader(arguments).expect_end();
  const GuardOrder order = parse_guard_order(read_all(STDIN_FILENO, kLongestOrder));
  const fs::path place = guard_directory();
  make_private_directory(place);
  stop_guard(place);
  if (order.is_empty()) {
    fs::remove_all(place);
    return 0;
  }
  fs::remove(place / "watch");  // Observations of the previous guard do not count for this one.
  write_atomically(place / "order", to_text(order));
  if (has_systemd())
    start_unit();
  else
    start_alone();
  return 0;
}

int run_guard_run(Arguments arguments) {
  OptionReader(arguments).expect_end();
  const fs::path place = guard_directory();
  const auto lock = try_lock(place / "lock");
  if (!lock) return 0;
  write_atomically(place / "pid", std::to_string(::getpid()));
  Guard guard(place);
  for (milliseconds pause = kGlance;;) {
    const auto order = read_order(place);
    if (!order) return 0;
    guard_pause(std::min(pause, order->period));
    pause = order->period;
    guard.look(*order);
    if (order->off.empty()) continue;
    if (guard.is_time())
      run_quietly(order->off);
    else
      guard.take_over_shutdown();
  }
}

int run_guard_show(Arguments arguments) {
  OptionReader(arguments).expect_end();
  const fs::path place = guard_directory();
  const auto order = fs::exists(place) ? read_order(place) : std::nullopt;
  const auto text = read_file(place / "watch");
  const bool runs = order && text && !try_lock(place / "lock");
  NodeWatch watch = runs ? parse_node_watch(*text) : glance(order);
  watch.sent = guard_now_s();
  write_all(STDOUT_FILENO, to_text(watch));
  return 0;
}

}  // namespace fastgpu::agent
