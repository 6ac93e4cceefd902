#include "cloudsim/dispatcher.hpp"

#include <algorithm>
#include <thread>

#include "base/contains.hpp"
#include "base/time_text.hpp"

namespace fastgpu::cloudsim {
namespace {

std::string http_date(Time time) {
  return utc_text(time, "%a, %d %b %Y %H:%M:%S GMT");
}

/// Applies a fault to an answer before it is sent.
void spoil(Reply& reply, const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::delay:
    case FaultKind::status:
    case FaultKind::error_in_200:
      break;
    case FaultKind::reset_before:
    case FaultKind::reset_after:
      reply.delivery = Delivery::reset;
      break;
    case FaultKind::half_body:
      reply.delivery = Delivery::half;
      break;
    case FaultKind::content_type:
      reply.content_type = fault.text;
      break;
    case FaultKind::slow_drip:
      reply.delivery = Delivery::drip;
      reply.pause = fault.pause;
      break;
    case FaultKind::garbage:
      reply.body = fault.text;
      break;
  }
}

}  // namespace

VendorApi* Dispatcher::api_of(const Request& request) const {
  const auto found = std::ranges::find_if(
      apis_, [&](const std::unique_ptr<VendorApi>& api) { return api->speaks(request); });
  return found == apis_.end() ? nullptr : found->get();
}

Reply Dispatcher::act(VendorApi& api, const Call& call) {
  SimulatedWorld& world = simulation_.world;
  CallRecord record{
      world.now(), std::string(api.vendor()), "", call.region, call.service, call.action, 200, ""};
  Reply reply;
  const auto refuse = [&](const Refusal& refusal) {
    record.code = refusal.code();
    reply = api.refuse(call, refusal, world);
  };
  try {
    const Account& account = api.authenticate(call, world);
    record.account = account.name;
    const Scope scope{record.vendor, account.name, call.region};
    if (!simulation_.throttle.admit(world, scope, call.action)) throw api.throttled();
    if (contains(account.denied, call.action)) throw api.not_allowed(call);
    reply = api.answer(call, account, world);
  } catch (const ProtocolViolation& violation) {
    simulation_.books.violations.push_back(record.vendor + " " + call.action + ": " +
                                           violation.code() + ": " + violation.what());
    refuse(violation);
  } catch (const Refusal& refusal) {
    refuse(refusal);
  } catch (const ApiFailure& failure) {
    refuse(api.translate(failure));
  }
  record.status = reply.status;
  simulation_.books.calls.push_back(record);
  return reply;
}

Reply Dispatcher::answer(VendorApi& api, const Call& call, const std::optional<Fault>& fault) {
  if (!fault) return act(api, call);
  if (fault->kind == FaultKind::reset_before) return Reply{.delivery = Delivery::reset};
  if (fault->kind == FaultKind::status || fault->kind == FaultKind::error_in_200) {
    const bool ok = fault->kind == FaultKind::error_in_200;
    const Refusal usual = api.of_status(fault->status);
    const std::string code = fault->code.empty() ? usual.code() : fault->code;
    Reply reply =
        api.refuse(call, Refusal(ok ? 200 : fault->status, code, usual.what()), simulation_.world);
    reply.status = ok ? 200 : fault->status;
    if (fault->retry_after)
      reply.headers.emplace_back("Retry-After", std::to_string(*fault->retry_after));
    simulation_.books.calls.push_back(CallRecord{simulation_.world.now(), std::string(api.vendor()),
                                                 "", call.region, call.service, call.action,
                                                 reply.status, code});
    return reply;
  }
  Reply reply = act(api, call);
  spoil(reply, *fault);
  return reply;
}

Reply Dispatcher::handle(const Request& request) {
  std::this_thread::sleep_for(simulation_.latency);
  VendorApi* api = api_of(request);
  if (api == nullptr)
    return Reply{400, "text/plain", "cloudsim: no vendor signs requests in this way\n"};
  const Call call = api->read(request);
  std::optional<Fault> fault;
  {
    const std::scoped_lock lock(simulation_.lock);
    fault = simulation_.faults.meet(std::string(api->vendor()), call.region, call.action);
  }
  if (fault && fault->kind == FaultKind::delay) std::this_thread::sleep_for(fault->pause);
  const std::scoped_lock lock(simulation_.lock);
  simulation_.world.settle();
  Reply reply = answer(*api, call, fault);
  reply.headers.emplace_back("Date", http_date(simulation_.world.wall_clock()));
  return reply;
}

}  // namespace fastgpu::cloudsim
