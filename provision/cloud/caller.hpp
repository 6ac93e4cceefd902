// Calls of a cloud's API. Each call is signed anew for every attempt, repeated if that may help,
// and reported to an observer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "base/cancel.hpp"
#include "http/backoff.hpp"
#include "http/client.hpp"
#include "provision/cloud/failure.hpp"
#include "provision/cloud/retry_limit.hpp"
#include "provision/credentials/credentials.hpp"
#include "provision/polling.hpp"

namespace fastgpu::provision::cloud {

struct CloudCall {
  std::string service{};  ///< "ec2"
  std::string action{};   ///< "RunInstances"
  std::string region{};
  http::Request request{};  ///< The request without date and signature.
  std::string shown{};      ///< The parameters without secrets, for people.
  /// False for a call that would create something twice. It is repeated only if the cloud reported
  /// that it did nothing; otherwise the caller must find out whether the call succeeded.
  bool is_repeatable = true;
  /// False if a refusal because something uses the resource is returned at once. The removal of a
  /// network waits by itself.
  bool outwaits_use = true;
  /// True if the call starts machines that exist, which no other place can start.
  bool is_start = false;
  /// A member that every answer to the call has, for a cloud whose answers have no common member.
  std::string holds{};
  /// False for a call whose answer is not essential, such as a price. It is repeated only a few
  /// times.
  bool is_essential = true;
};

/// The result of one attempt.
struct CallReport {
  std::string_view cloud;
  const CloudCall& call;
  int attempt = 1;
  int status = 0;  ///< 0: no answer came.
  std::string_view request_id{};
  std::string_view failure{};  ///< The refusal's code, or the reason why no answer came.
  std::chrono::milliseconds took{0};
};

/// A listener for every attempt, from any thread. Must not throw.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void attempted(const CallReport& report) = 0;
};

/// The particular features of a vendor's API.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string_view cloud() const noexcept = 0;
  virtual void sign(http::Request& request, const CloudCall& call, const signing::Keys& keys,
                    std::chrono::system_clock::time_point now) const = 0;
  /// Returns the refusal in an answer with any status; absent for a success.
  virtual std::optional<Failure> failure_in(const http::Response& response) const = 0;
  /// Returns true if a success has the form of the cloud's answers to such a call. Any other answer
  /// comes from a host in between, or was cut off, and must not be read as an empty answer.
  virtual bool is_answer(const http::Response& response, const CloudCall& call) const = 0;
  virtual std::string request_id(const http::Response& response) const = 0;
};

/// The tools for calls. Borrowed; must outlive the clouds that call.
struct ApiTools {
  http::Client& http;
  CallObserver& observer;
  /// Called for the first call that needs credentials, and again when they expire.
  std::function<credentials::Credentials()> find_credentials;
  /// Waits for that time or a cancel.
  Wait wait;
  std::function<double()> random;  ///< Returns a number in [0, 1).
  http::Backoff backoff{};
  const RetryLimit* retry_limit = nullptr;  ///< Null: the calls have no time limit.
};

/// Waits for a time or a cancel.
void wait_for(std::chrono::milliseconds duration, const Cancel& cancel);

/// A caller of an API. Any number of threads may use one.
class Caller {
 public:
  Caller(ApiTools tools, const Dialect& dialect) : tools_(std::move(tools)), dialect_(dialect) {}

  using Reply = std::variant<http::Response, Failure>;

  /// Calls the API. Repeats within the backoff's limits if a repetition may help, until
  /// the deadline of the retry limit, which shortens the exchanges as well, and corrects the clock
  /// once if the cloud's differs. A refusal for a clock that is right means expired credentials.
  /// Throws transient without any answer, timeout without one at the deadline, interrupted after a
  /// cancel.
  Reply try_call(const CloudCall& call, const Cancel& cancel);

  /// Calls as try_call does, but a refusal throws error_of(refusal, doing).
  http::Response call(const CloudCall& call, std::string_view doing, const Cancel& cancel);

  credentials::Credentials credentials();
  /// Returns true if credentials exist; throws if they cannot be read.
  bool has_credentials();
  /// Returns true if a signed request has succeeded.
  bool has_been_accepted() const noexcept { return accepted_; }

 private:
  struct Attempt;
  Attempt send(const CloudCall& call, const Cancel& cancel);
  Attempt watched(const CloudCall& call, int number, const Cancel& cancel);
  std::chrono::seconds ahead();
  enum class Clocks : std::uint8_t { unknown, agree, differ };
  /// Compares the time with which an attempt was signed with the time of its answer, and corrects
  /// the clock if they differ.
  Clocks set_clock(const Attempt& made);

  ApiTools tools_;
  const Dialect& dialect_;
  std::mutex mutex_;
  std::optional<credentials::Credentials> credentials_;
  std::atomic<bool> accepted_ = false;
  std::chrono::seconds ahead_{0};  ///< The lead of the cloud's clock over ours.
};

}  // namespace fastgpu::provision::cloud
