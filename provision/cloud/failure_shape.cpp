// The meaning of refusals whose codes are in no table.
#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/ascii.hpp"
#include "http/urls.hpp"
#include "provision/cloud/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

/// Returns a code in small letters without the separators of its words: "vpclimitexceeded".
std::string folded(std::string_view code) {
  std::string text;
  for (const char c : code)
    if (is_ascii_letter_or_digit(c)) text += ascii_lower(c);
  return text;
}

using Words = std::initializer_list<std::string_view>;

bool has_any(std::string_view text, Words words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool ends_with_any(std::string_view text, Words words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.ends_with(word); });
}

/// Returns true if one place may lack the resource and another may have it. An image that does not
/// fit a type fits it nowhere.
bool is_about_a_place(std::string_view code) {
  const bool is_thing =
      has_any(code, {"zone", "region", "category", "instancetype", "volumetype", "disktype",
                     "instancefamily", "instancespec", "flavor", "devicetype", "spot"});
  const bool is_wanting =
      has_any(code, {"notsupport", "unsupport", "notallow", "notavailable", "unavailable",
                     "notopen", "notonsale", "notmatch", "mismatch", "offline", "restricted",
                     "notenable", "invalidzone", "closed"});
  return (is_thing && is_wanting && !has_any(code, {"image"})) || has_any(code, {"disknotsupport"});
}

struct Shape {
  FailureKind kind;
  bool (*fits)(std::string_view code);
};

// The first row that fits counts.
constexpr std::array kShapes = {
    // The message contains the name of the call, which may contain any of the words below.
    Shape{FailureKind::invalid, [](std::string_view c) { return c.starts_with("invalidaction"); }},
    Shape{FailureKind::throttled,
          [](std::string_view c) {
            return has_any(c, {"throttl", "requestlimitexceeded", "toomanyrequests", "ratelimit",
                               "rateexceeded", "bandwidthlimitexceeded", "flowcontrol", "slowdown",
                               "frequency", "toofrequent", "actionlimited", "apilimit"});
          }},
    Shape{FailureKind::token_used,
          [](std::string_view c) {
            return has_any(c, {"idempotent"}) ||
                   (has_any(c, {"clienttoken"}) && has_any(c, {"mismatch", "conflict", "used"}));
          }},
    Shape{FailureKind::clock_skew,
          [](std::string_view c) {
            return has_any(c, {"timestamp", "signatureexpire", "requestexpired", "timetooskewed"});
          }},
    Shape{FailureKind::expired,
          [](std::string_view c) {
            return has_any(c, {"expiredtoken", "securitytokenexpired", "authtokenexpired"});
          }},
    Shape{FailureKind::account,
          [](std::string_view c) {
            return has_any(c, {"realname", "optinrequired", "pendingverification", "qualification",
                               "prepaidaccount", "whitelist", "notsubscribed"}) ||
                   c == "blocked";
          }},
    Shape{FailureKind::permission,
          [](std::string_view c) {
            return has_any(c, {"unauthorized", "notauthorized", "accessdenied", "forbidden",
                               "nopermission", "notpermitted", "permissiondenied"});
          }},
    Shape{FailureKind::credentials,
          [](std::string_view c) {
            return has_any(c, {"signature", "accesskey", "secretid", "securitytoken",
                               "invalidtoken", "tokenfailure", "unrecognizedclient",
                               "invalidclienttokenid", "authenticationtoken"});
          }},
    Shape{FailureKind::price,
          [](std::string_view c) {
            return has_any(
                c, {"insufficientprice", "pricetoolow", "lowerthanpublicprice", "pricelowerthan"});
          }},
    Shape{FailureKind::money,
          [](std::string_view c) {
            return has_any(
                c, {"notenoughbalance", "insufficientbalance", "balanceinsufficient", "balancenot",
                    "accountbalance", "arrear", "insufficientfund", "unpaid", "paymethod",
                    "paymentmethod", "paymentinstrument", "overdue"});
          }},
    Shape{FailureKind::stock,
          [](std::string_view c) {
            return has_any(c, {"soldout", "sellout", "nostock", "outofstock", "notonsale",
                               "resourceinsufficient", "resourcenotavailable",
                               "insufficientoffering", "insufficientresource", "unfulfillable"}) ||
                   (has_any(c, {"capacity"}) &&
                    has_any(c, {"insufficient", "exceeded", "unavailable", "notavailable"})) ||
                   is_about_a_place(c);
          }},
    Shape{FailureKind::quota,
          [](std::string_view c) {
            // The length of a text is not a quota.
            if (has_any(c, {"lengthexceed", "lenexceed"})) return false;
            return has_any(
                c, {"quota", "exceed", "limitreached", "purchaselimit", "ipnotenough", "notenough",
                    "insufficientfreeaddress", "overlimit", "toomany", "noavailableip"});
          }},
    Shape{FailureKind::not_found,
          [](std::string_view c) {
            return has_any(c, {"notfound", "notexist", "doesnotexist", "nosuch", "nonexist",
                               "idnotspecified"}) ||
                   // An id that the cloud never assigns belongs to no resource.
                   (c.ends_with("idmalformed"));
          }},
    Shape{FailureKind::done_already,
          [](std::string_view c) {
            return has_any(
                c, {"alreadyassociated", "alreadyattached", "routealreadyexist", "rulealreadyexist",
                    "duplicatepolicy", "duplicaterule", "permissionduplicate"});
          }},
    Shape{FailureKind::name_taken,
          [](std::string_view c) {
            return has_any(c, {"duplicate", "alreadyexist", "nameconflict", "alreadyinuse"});
          }},
    Shape{FailureKind::in_use,
          [](std::string_view c) {
            return has_any(c, {"inuse", "dependency", "beingused", "stillused"});
          }},
    Shape{FailureKind::busy,
          [](std::string_view c) {
            return has_any(c, {"internalerror", "internalservererror", "internalfailure",
                               "serviceunavailable", "busy", "mutex", "taskrunning", "inprogress",
                               "processing", "concurrent"}) ||
                   (has_any(c, {"conflict"}) && !has_any(c, {"parameter", "cidr"})) ||
                   (has_any(c, {"resourceunavailable"}) && !has_any(c, {"not", "expire"})) ||
                   (c.starts_with("incorrect") && has_any(c, {"state", "status"})) ||
                   ends_with_any(c, {"failed", "failure", "creating", "pending"});
          }},
};

struct Sentence {
  FailureKind kind;
  std::array<std::string_view, 2> words;  ///< All of them, in small letters.
};

// The first row whose words all occur counts.
constexpr std::array kSentences = {
    Sentence{FailureKind::quota, {"quota"}},
    Sentence{FailureKind::quota, {"limit", "exceed"}},
    Sentence{FailureKind::price, {"spot", "price"}},
    Sentence{FailureKind::price, {"price", "lower"}},
    Sentence{FailureKind::money, {"balance"}},
    Sentence{FailureKind::money, {"arrears"}},
    Sentence{FailureKind::account, {"real-name"}},
    Sentence{FailureKind::account, {"account", "frozen"}},
    Sentence{FailureKind::stock, {"no valid host"}},
    Sentence{FailureKind::stock, {"sold out"}},
    Sentence{FailureKind::stock, {"sellout"}},
    Sentence{FailureKind::stock, {"out of stock"}},
    Sentence{FailureKind::stock, {"capacity"}},
    Sentence{FailureKind::stock, {"insufficient"}},
    Sentence{FailureKind::stock, {"not enough"}},
    Sentence{FailureKind::stock, {"no more"}},
    Sentence{FailureKind::stock, {"not supported", "zone"}},
    Sentence{FailureKind::stock, {"not support", "zone"}},
    Sentence{FailureKind::stock, {"not available", "zone"}},
    Sentence{FailureKind::stock, {"not supported", " az"}},
    Sentence{FailureKind::stock, {"not supported", "flavor"}},
    Sentence{FailureKind::stock, {"not available", "flavor"}},
    Sentence{FailureKind::busy, {"try again later"}},
    Sentence{FailureKind::busy, {"try later"}},
};

}  // namespace

std::optional<FailureKind> kind_by_shape(std::string_view code) {
  const std::string text = folded(code);
  for (const Shape& shape : kShapes)
    if (shape.fits(text)) return shape.kind;
  return std::nullopt;
}

std::optional<FailureKind> kind_by_words(std::string_view message) {
  const std::string text = ascii_lower(std::string(message));
  for (const Sentence& sentence : kSentences)
    if (std::ranges::all_of(sentence.words, [&](std::string_view word) {
          return text.find(word) != std::string::npos;
        }))
      return sentence.kind;
  return std::nullopt;
}

FailureKind kind_of_failure(std::string_view code, std::string_view message, int status,
                            std::span<const CodeMeaning> exceptions) {
  for (const CodeMeaning& row : exceptions)
    if (code.starts_with(row.prefix)) return row.kind;
  if (const auto kind = kind_by_shape(code)) return *kind;
  if (status == 429) return FailureKind::throttled;
  if (status >= 500) return FailureKind::busy;
  return kind_by_words(message).value_or(FailureKind::invalid);
}

}  // namespace fastgpu::provision::cloud
