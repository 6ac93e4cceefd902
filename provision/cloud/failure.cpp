#include "provision/cloud/failure.hpp"

#include "base/names.hpp"
#include "provision/providers.hpp"

namespace fastgpu::provision::cloud {
namespace {

struct Meaning {
  ErrorKind kind;
  std::string_view word;  ///< Shown before the cloud's own words.
  /// The remedy, shown after them; for credentials, shown after their source.
  std::string_view way_out;
};

Meaning meaning_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::throttled:
      return {ErrorKind::transient, "too many calls", "; try again in a minute"};
    case FailureKind::busy:
      return {ErrorKind::transient, "the cloud is busy", "; try again in a minute"};
    case FailureKind::stock:
      return {ErrorKind::capacity, "no stock", "; another zone or type may have some"};
    case FailureKind::quota:
      return {ErrorKind::capacity, "quota", "; `fastgpu get quotas` shows the account's limits"};
    case FailureKind::price:
      return {ErrorKind::capacity, "price", "; raise --max-price or leave it out"};
    case FailureKind::money:
      return {ErrorKind::denied, "the account cannot pay",
              "; pay what is due, or top up the account"};
    case FailureKind::account:
      return {ErrorKind::denied, "the account is restricted",
              "; its owner enables it in the cloud's console (proof of identity, payment, terms of "
              "the service)"};
    case FailureKind::permission:
      return {ErrorKind::denied, "no permission", "; the account's administrator can grant it"};
    case FailureKind::credentials:
      return {ErrorKind::denied, "credentials refused", ": replace them there"};
    case FailureKind::expired:
      return {ErrorKind::denied, "the credentials have expired", ": renew them there"};
    case FailureKind::clock_skew:
      return {ErrorKind::denied, "the clocks differ", "; set this machine's clock"};
    case FailureKind::not_found:
      return {ErrorKind::not_found, "not found", ""};
    case FailureKind::name_taken:
      return {ErrorKind::conflict, "the name is taken", ""};
    case FailureKind::in_use:
      return {ErrorKind::conflict, "still in use", ""};
    case FailureKind::done_already:
      return {ErrorKind::conflict, "done already", ""};
    case FailureKind::token_used:
      return {ErrorKind::conflict, "the idempotency token was used before", ""};
    case FailureKind::dry_run_passed:
      return {ErrorKind::remote, "a trial only", ""};
    case FailureKind::invalid:
      return {ErrorKind::remote, "refused", ""};
  }
  return {ErrorKind::internal, "", ""};
}

/// Returns a cloud's words, fit for a terminal.
std::string shown_words(std::string_view words) {
  return printable(words, 500);
}

/// Returns true for a lack of stock whose code means just that: every place that is asked may add
/// such a refusal, and the cloud's message only repeats the code and the zone.
bool says_all_by_code(const Failure& failure) {
  return failure.kind == FailureKind::stock && kind_by_shape(failure.code) == FailureKind::stock;
}

/// Returns ": the cloud's message (request 1234)".
std::string details(const Failure& failure) {
  std::string text;
  if (!failure.message.empty()) text.append(": ").append(shown_words(failure.message));
  if (!failure.request_id.empty())
    text.append(" (request ").append(shown_words(failure.request_id)).append(")");
  return text;
}

bool is_about_credentials(FailureKind kind) {
  return kind == FailureKind::credentials || kind == FailureKind::expired;
}

/// Returns the page of the cloud's console on which the remedy is applied; empty: unknown.
std::string page_for(const Failure& failure) {
  const ProviderInfo info = provider_info(failure.cloud);
  if (failure.kind == FailureKind::quota && !info.quota_page.empty())
    return "; to raise them, see " + std::string(info.quota_page);
  if (failure.kind == FailureKind::money && !info.billing_page.empty())
    return ": see " + std::string(info.billing_page);
  return {};
}

/// Returns the remedy for a refusal: "; the credentials are from AWS_ACCESS_KEY_ID: renew them
/// there".
std::string remedy(const Failure& failure, const Meaning& meaning) {
  if (failure.is_out_of_time)
    return "; --timeout leaves no time for another attempt: give more time, or try again later";
  if (failure.kind == FailureKind::stock && failure.is_start)
    return "; try again later: the machines stay stopped, and no other place can start them";
  if (!is_about_credentials(failure.kind)) return std::string(meaning.way_out) + page_for(failure);
  if (failure.credentials.empty())
    return "; `fastgpu get providers` shows where each cloud reads its credentials";
  return "; the credentials are from " + shown_words(failure.credentials) +
         std::string(meaning.way_out);
}

}  // namespace

bool is_worth_repeating(FailureKind kind) noexcept {
  return kind == FailureKind::throttled || kind == FailureKind::busy || kind == FailureKind::in_use;
}

Error error_of(const Failure& failure, std::string_view doing) {
  const Meaning meaning = meaning_of(failure.kind);
  std::string text(doing);
  text.append(": ").append(meaning.word).append(": ").append(shown_words(failure.code));
  if (!says_all_by_code(failure)) text.append(details(failure));
  text.append(remedy(failure, meaning));
  return {failure.is_out_of_time ? ErrorKind::timeout : meaning.kind, text};
}

}  // namespace fastgpu::provision::cloud
