// One call of a cloud's API from the unsigned request to an answer or a refusal: signed anew each
// time, repeated where that may help, and told to whoever watches.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "base/cancel.hpp"
#include "http/backoff.hpp"
#include "http/client.hpp"
#include "provision/cloud/failure.hpp"
#include "provision/credentials/credentials.hpp"

namespace fastgpu::provision::cloud {

struct Call {
  std::string service{};  ///< "ec2"
  std::string action{};   ///< "RunInstances"
  std::string region{};
  http::Request request{};  ///< Without date and signature.
  std::string shown{};      ///< The parameters without what is secret, for people.
  /// False for what a second call would make a second time: it is repeated only where the cloud
  /// said that it did nothing, and what may have been done is for the caller to find out.
  bool is_repeatable = true;
  /// A member of every answer to it, where the cloud's answers have none that all of them have.
  std::string holds{};
  /// False for what one can do without, such as a price: a service that gives no answer is not
  /// waited for long.
  bool is_essential = true;
};

/// How one attempt went.
struct CallReport {
  std::string_view cloud;
  const Call& call;
  int attempt = 1;
  int status = 0;  ///< 0: no answer came.
  std::string_view request_id{};
  std::string_view failure{};  ///< The refusal's code, or why no answer came.
  std::chrono::milliseconds took{0};
};

/// Hears of every attempt, from any thread. Must not throw.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void attempted(const CallReport& report) = 0;
};

/// What a vendor's API has of its own.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string_view cloud() const noexcept = 0;
  virtual void sign(http::Request& request, const Call& call, const signing::Keys& keys,
                    std::chrono::system_clock::time_point now) const = 0;
  /// The refusal in an answer, whatever its status; absent for a success.
  virtual std::optional<Failure> failure_in(const http::Response& response) const = 0;
  /// Whether a success has the form that the cloud's answers to such a call have. What has not was
  /// sent by somebody in between, or cut off: read as an answer it would say that nothing is there.
  virtual bool is_answer(const http::Response& response, const Call& call) const = 0;
  virtual std::string request_id(const http::Response& response) const = 0;
};

/// Borrowed; must outlive the clouds that call.
struct ApiTools {
  http::Client& http;
  CallObserver& observer;
  /// Looked for when a first call needs them, and again when they expire.
  std::function<credentials::Credentials()> find_credentials;
  /// Returns after that time or when a stop is wished.
  std::function<void(std::chrono::milliseconds, const Cancel&)> wait;
  std::function<double()> random;  ///< In [0, 1).
  http::Backoff backoff{};
};

/// Waits for a time or a stop.
void wait_for(std::chrono::milliseconds duration, const Cancel& cancel);

/// Any number of threads may call by one Caller.
class Caller {
 public:
  Caller(ApiTools tools, const Dialect& dialect) : tools_(std::move(tools)), dialect_(dialect) {}

  using Reply = std::variant<http::Response, Failure>;

  /// Repeats what is worth it within the backoff's limits, with the clock set right once where the
  /// cloud's differs. Throws where no answer comes at all, and interrupted after a cancel.
  Reply try_call(const Call& call, const Cancel& cancel);

  /// The same, where a refusal throws error_of(refusal, doing).
  http::Response call(const Call& call, std::string_view doing, const Cancel& cancel);

  credentials::Credentials credentials();
  /// Whether there are any; throws where they cannot be read.
  bool has_credentials();
  /// Whether a signed request was answered as wished.
  bool has_been_accepted() const noexcept { return accepted_; }

 private:
  struct Attempt;
  Attempt send(const Call& call, const Cancel& cancel);
  Attempt watched(const Call& call, int number, const Cancel& cancel);
  std::chrono::seconds ahead();
  /// Takes the time over from an attempt's answer; false where it was signed with that time.
  bool set_clock(const Attempt& made);

  ApiTools tools_;
  const Dialect& dialect_;
  std::mutex mutex_;
  std::optional<credentials::Credentials> credentials_;
  std::atomic<bool> accepted_ = false;
  std::chrono::seconds ahead_{0};  ///< By how much the cloud's clock is ahead of ours.
};

}  // namespace fastgpu::provision::cloud
