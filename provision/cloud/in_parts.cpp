#include "provision/cloud/in_parts.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/parallel.hpp"
#include "provision/cloud/batches.hpp"

namespace fastgpu::provision::cloud {
namespace {

using Ids = std::vector<std::string>;

/// Returns true if a refusal may be about one of several machines.
bool may_be_about_one(const Error& error) {
  return error.kind() == ErrorKind::not_found || error.kind() == ErrorKind::conflict ||
         error.kind() == ErrorKind::remote;
}

/// Returns true if `text` contains the id as a word of its own.
bool names(std::string_view text, const std::string& id) {
  const auto is_part = [&](std::size_t at) {
    return at < text.size() && (is_ascii_letter_or_digit(text[at]) || text[at] == '-');
  };
  for (std::size_t at = text.find(id); at != text.npos; at = text.find(id, at + 1))
    if ((at == 0 || !is_part(at - 1)) && !is_part(at + id.size())) return true;
  return false;
}

class SentParts {
 public:
  explicit SentParts(const Order& order) : order_(order) {}

  void give(Ids ids) {
    if (ids.empty()) return;
    try {
      ++calls_;
      order_(ids);
    } catch (const Error& e) {
      if (!may_be_about_one(e)) throw;
      if (ids.size() == 1 || calls_ >= kMostCalls) return refuse(ids, e);
      split(std::move(ids), e);
    }
  }

  std::vector<RefusedId> refused{};

 private:
  /// After so many calls the refusal is about all machines.
  static constexpr int kMostCalls = 200;

  void refuse(const Ids& ids, const Error& error) {
    for (const std::string& id : ids)
      refused.push_back({id, error});
  }

  void split(Ids ids, const Error& error) {
    const std::string message = error.what();
    const auto rest = std::stable_partition(
        ids.begin(), ids.end(), [&](const std::string& id) { return names(message, id); });
    if (rest != ids.begin()) {
      refuse(Ids(ids.begin(), rest), error);
      return give(Ids(rest, ids.end()));
    }
    const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(ids.size() / 2);
    give(Ids(ids.begin(), middle));
    give(Ids(middle, ids.end()));
  }

  const Order& order_;
  int calls_ = 0;
};

}  // namespace

std::vector<RefusedId> order_in_parts(std::span<const std::string> ids, const Order& order) {
  SentParts parts(order);
  parts.give(Ids(ids.begin(), ids.end()));
  return std::move(parts.refused);
}

namespace {

/// Gives the order to `ids` by `give`, and repeats it for the unknown ones a few times.
void until_known(std::span<const std::string> ids,
                 const std::function<std::vector<RefusedId>(const Ids& left)>& give,
                 const Wait& wait, const Cancel& cancel) {
  constexpr int kLooks = 4;
  constexpr std::chrono::seconds kBetween{2};
  Ids left(ids.begin(), ids.end());
  std::vector<RefusedId> others;
  for (int look = 1; !left.empty(); ++look) {
    const auto refused = give(left);
    left.clear();
    for (const RefusedId& one : refused)
      if (one.error.kind() == ErrorKind::not_found)
        left.push_back(one.id);
      else
        others.push_back(one);
    if (left.empty() || look == kLooks) break;
    wait(kBetween * look, cancel);
    cancel.check();
  }
  throw_refused(others);
}

}  // namespace

void order_known(std::span<const std::string> ids, const Order& order, const Wait& wait,
                 const Cancel& cancel) {
  until_known(
      ids, [&](const Ids& left) { return order_in_parts(left, order); }, wait, cancel);
}

void order_each(std::span<const std::string> ids,
                const std::function<void(const std::string& id)>& order, const Wait& wait,
                const Cancel& cancel) {
  constexpr std::size_t kCallsAtOnce = 8;
  const auto give = [&](const Ids& left) {
    const auto outcomes = parallel_map(std::span<const std::string>(left), kCallsAtOnce, order);
    std::vector<RefusedId> refused;
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!outcomes[i].ok()) refused.push_back({left[i], outcomes[i].error()});
    return refused;
  };
  until_known(ids, give, wait, cancel);
}

void throw_refused(std::span<const RefusedId> refused) {
  for (const RefusedId& one : refused)
    if (one.error.kind() != ErrorKind::not_found) throw one.error;
}

void order_due(const std::function<std::vector<Machine>()>& due, const Order& order,
               bool (*may_pass)(const RefusedId&)) {
  constexpr int kLooks = 3;
  for (int look = 1;; ++look) {
    const std::vector<Machine> machines = due();
    if (machines.empty()) return;
    const auto refused = order_in_parts(ids_of(machines), order);
    if (look == kLooks || std::ranges::none_of(refused, may_pass)) return throw_refused(refused);
  }
}

}  // namespace fastgpu::provision::cloud
