#include "ssh/scan.hpp"

#include <poll.h>

#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/outcome.hpp"
#include "base/units.hpp"
#include "ssh/connection.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

using time_point = Clock::time_point;

class Scan {
 public:
  Scan(const Host& host, Identities& identities) : host_(host), identities_(identities) {}

  bool ended() const noexcept { return result_.has_value(); }
  pollfd wanted() const { return connection_ ? connection_->wanted() : pollfd{-1, 0, 0}; }
  void end(Error why) { result_ = std::move(why); }
  void end_late(const std::string& limit) { end(connection_->timed_out(limit)); }
  HostResult<std::string> take_result() { return {host_.name, std::move(*result_)}; }

  void step() try {
    if (!connection_)
      connection_ = std::make_unique<Connection>(host_, identities_, Goal::host_key);
    connection_->woken();
    const bool done = connection_->advance();
    connection_->flush();
    if (done) result_ = public_key_line(connection_->host_key_blob());
  } catch (const Error& e) {
    result_ = e;
  }

 private:
  const Host& host_;
  Identities& identities_;
  std::unique_ptr<Connection> connection_;
  std::optional<Outcome<std::string>> result_;
};

/// Waits for one of the scans or a cancel, at most `limit`.
void wait_for_any(const std::vector<Scan>& scans, const Cancel& cancel,
                  std::chrono::milliseconds limit) {
  std::vector<pollfd> polled{{cancel.fd(), POLLIN, 0}};
  for (const Scan& scan : scans)
    if (!scan.ended()) polled.push_back(scan.wanted());
  ::poll(polled.data(), polled.size(), static_cast<int>(limit.count()));
}

}  // namespace

std::vector<HostResult<std::string>> scan_host_keys(std::span<const Host> hosts,
                                                    std::chrono::milliseconds timeout,
                                                    const Cancel& cancel) {
  using std::chrono::milliseconds;
  Identities identities;
  std::vector<Scan> scans;
  for (const Host& host : hosts)
    scans.emplace_back(host, identities);
  const time_point until = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    bool all_ended = true;
    const time_point now = std::chrono::steady_clock::now();
    for (Scan& scan : scans) {
      if (!scan.ended()) scan.step();
      if (!scan.ended() && cancel.requested()) scan.end({ErrorKind::interrupted, "interrupted"});
      if (!scan.ended() && now >= until) scan.end_late(to_string(timeout));
      all_ended = all_ended && scan.ended();
    }
    if (all_ended) break;
    wait_for_any(scans, cancel, std::chrono::ceil<milliseconds>(until - now));
  }
  std::vector<HostResult<std::string>> results;
  for (Scan& scan : scans)
    results.push_back(scan.take_result());
  return results;
}

}  // namespace fastgpu::ssh
