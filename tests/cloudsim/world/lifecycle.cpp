#include <algorithm>

#include "cloudsim/machines/cloud_init.hpp"
#include "cloudsim/world/world.hpp"

namespace fastgpu::cloudsim {

void SimulatedWorld::begin(Instance& instance, State state, milliseconds takes) {
  instance.state = state;
  instance.due = now() + takes;
}

void SimulatedWorld::begin_boot(Instance& instance, State state) {
  if (machines == nullptr || instance.boot_fails) return begin(instance, state, settings.boot);
  instance.state = state;
  instance.due.reset();
  machines->boot(instance);
}

void SimulatedWorld::end(Instance& instance) {
  if (!instance.runs.empty() && !instance.runs.back().to) instance.runs.back().to = now();
}

/// Takes stock for an instance. A stopped one that has given up its stock may not get it again.
void SimulatedWorld::take_stock(Instance& instance) {
  Offer* offer = catalogues.at(instance.scope.vendor).offer(instance.zone, instance.type);
  if (instance.holds_stock || offer == nullptr) return;
  std::int64_t& stock = stock_of(*offer, instance.market);
  if (stock == 0)
    throw ApiFailure(ApiFailureKind::no_stock, instance.type,
                     "not enough " + instance.type + " in " + instance.zone);
  if (stock > 0) --stock;
  instance.holds_stock = true;
}

void SimulatedWorld::start(Instance& instance) {
  if (instance.state == State::running || instance.state == State::starting) return;
  if (instance.state != State::stopped)
    throw ApiFailure(ApiFailureKind::wrong_state, instance.id, "it is not stopped");
  take_stock(instance);
  end(instance);
  instance.runs.push_back(Run{now()});
  begin_boot(instance, State::starting);
}

void SimulatedWorld::stop(Instance& instance, Charging charging) {
  if (instance.state == State::stopped || instance.state == State::stopping) return;
  if (instance.state != State::running)
    throw ApiFailure(ApiFailureKind::wrong_state, instance.id, "it is not running");
  if (charging == Charging::stops) {
    end(instance);
    give_back_stock(instance);
  }
  instance.powers_off.reset();
  if (machines == nullptr) return begin(instance, State::stopping, settings.stop);
  instance.state = State::stopping;
  instance.due.reset();
  machines->stop(instance);
}

void SimulatedWorld::terminate(Instance& instance) {
  if (instance.state == State::terminated || instance.state == State::shutting_down) return;
  give_back_stock(instance);
  end(instance);
  if (machines != nullptr) machines->destroy(instance);
  begin(instance, State::shutting_down, settings.terminate);
}

void SimulatedWorld::reclaim(Instance& instance, milliseconds notice) {
  instance.reclaim_at = now() + notice;
}

void SimulatedWorld::booted(const std::string& id, const std::string& address) {
  Instance& instance = instances.at(id);
  if (instance.state != State::pending && instance.state != State::starting) return;
  instance.private_address = address;
  if (!instance.public_address.empty()) instance.public_address = address;
  end_boot(instance);
}

void SimulatedWorld::boot_failed(const std::string& id, const std::string& reason) {
  Instance& instance = instances.at(id);
  if (instance.state != State::pending && instance.state != State::starting) return;
  instance.reason = reason;
  instance.boot_fails = true;
  begin(instance, instance.state, 0ms);
}

void SimulatedWorld::machine_stopped(const std::string& id) {
  Instance& instance = instances.at(id);
  if (instance.state == State::stopping) instance.state = State::stopped;
}

/// Ends a boot, and applies the user data.
void SimulatedWorld::end_boot(Instance& instance) {
  const bool first = instance.state == State::pending;
  const CloudInit init = read_cloud_init(instance.user_data);
  const auto lasts = first && init.first_boot_lasts ? init.first_boot_lasts : init.each_boot_lasts;
  instance.powers_off.reset();
  if (lasts) instance.powers_off = now() + *lasts;
  instance.state = State::running;
}

void SimulatedWorld::power_off(Instance& instance) {
  instance.powers_off.reset();
  if (instance.terminate_on_shutdown)
    terminate(instance);
  else if (instance.state == State::running)
    stop(instance);
}

void SimulatedWorld::settle_timers(Instance& instance) {
  const auto passed = [this](std::optional<Time>& timer) {
    if (!timer || *timer > now()) return false;
    timer.reset();
    return true;
  };
  if (passed(instance.release_at)) terminate(instance);
  if (passed(instance.reclaim_at)) {
    instance.reason = "reclaimed";
    terminate(instance);
  }
  if (passed(instance.powers_off)) power_off(instance);
}

void SimulatedWorld::settle(Instance& instance) {
  if (instance.state == State::terminated) return;
  settle_timers(instance);
  if (!instance.due || *instance.due > now()) return;
  instance.due.reset();
  switch (instance.state) {
    case State::pending:
    case State::starting:
      if (!instance.boot_fails) return end_boot(instance);
      if (instance.failed_boot_ends) return terminate(instance);
      end(instance);
      instance.state = State::failed;
      break;
    case State::stopping:
      instance.state = State::stopped;
      break;
    case State::shutting_down:
      instance.state = State::terminated;
      instance.ended = now();
      remove_parts_of(instance.id);
      break;
    case State::running:
    case State::stopped:
    case State::terminated:
    case State::failed:
      break;
  }
}

void SimulatedWorld::settle() {
  for (auto& [id, instance] : instances)
    settle(instance);
}

double SimulatedWorld::cost(const Instance& instance) const {
  double hours = 0;
  for (const Run& run : instance.runs)
    hours +=
        std::chrono::duration<double, std::ratio<3600>>(run.to.value_or(now()) - run.from).count();
  return hours * instance.price;
}

}  // namespace fastgpu::cloudsim
