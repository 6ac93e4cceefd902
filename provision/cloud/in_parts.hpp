// Orders about many machines in one call, where one bad id must not spoil the others.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/error.hpp"
#include "provision/cloud/model.hpp"
#include "provision/polling.hpp"

namespace fastgpu::provision::cloud {

/// A machine for which an order was refused, with the reason.
struct RefusedId {
  std::string id;
  Error error;
};

/// A function that gives an order about machines. Throws Error if the cloud refuses.
using Order = std::function<void(std::span<const std::string> ids)>;

/// Gives an order about `ids` in one call. If the cloud refuses and one of the machines may be the
/// reason, leaves out the ids that the refusal names, or else gives the order in halves. Returns
/// the ids that are refused. Throws refusals that are about no single machine: denied, capacity,
/// transient, interrupted.
std::vector<RefusedId> order_in_parts(std::span<const std::string> ids, const Order& order);

/// Gives an order about machines that were launched seconds ago, which the cloud may not know yet:
/// repeats it for unknown ones. A machine that stays unknown is gone, which is not a refusal. After
/// the order was given for all others, throws the first refusal.
void order_known(std::span<const std::string> ids, const Order& order, const Wait& wait,
                 const Cancel& cancel);

/// Does the same with an order that names one machine in each call. Makes several calls at once.
void order_each(std::span<const std::string> ids,
                const std::function<void(const std::string& id)>& order, const Wait& wait,
                const Cancel& cancel);

/// Throws the first refusal that is not about a machine that is gone.
void throw_refused(std::span<const RefusedId> refused);

/// Gives an order to the machines that `due` returns, until it returns none: those that still need
/// it. If refusals are among those that `may_pass`, looks again, three times in all. Then throws as
/// throw_refused().
void order_due(const std::function<std::vector<Machine>()>& due, const Order& order,
               bool (*may_pass)(const RefusedId&));

}  // namespace fastgpu::provision::cloud
