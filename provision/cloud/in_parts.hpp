// Orders about many machines in one call, of which one bad id spoils none of the others.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/error.hpp"

namespace fastgpu::provision::cloud {

/// A machine that an order was refused for, and why.
struct RefusedId {
  std::string id;
  Error error;
};

/// An order about machines; throws Error where the cloud refuses it.
using Order = std::function<void(std::span<const std::string> ids)>;

/// Gives an order about `ids` in one call. Where the cloud refuses that for what may be about one
/// of them, those that the refusal names are left out, or else the order is given in halves.
/// Returns the ids that it is refused for. Throws what is about none of them: denied, capacity,
/// transient, interrupted.
std::vector<RefusedId> order_in_parts(std::span<const std::string> ids, const Order& order);

/// Waits for a time or a stop.
using Pause = std::function<void(std::chrono::milliseconds, const Cancel&)>;

/// The same about machines that the cloud may not know yet some seconds after their launch: it is
/// asked again for those. One that stays unknown is gone, which is no refusal. Throws, once the
/// order was given for all others, what it is refused for.
void order_known(std::span<const std::string> ids, const Order& order, const Pause& pause,
                 const Cancel& cancel);

/// The same for an order that names one machine a call, some of them at once.
void order_each(std::span<const std::string> ids,
                const std::function<void(const std::string& id)>& order, const Pause& pause,
                const Cancel& cancel);

/// Throws the first of them that is not about a machine that is gone.
void throw_refused(std::span<const RefusedId> refused);

}  // namespace fastgpu::provision::cloud
