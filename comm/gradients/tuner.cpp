#include "comm/gradients/tuner.hpp"

#include <algorithm>
#include <cassert>

#include "base/contains.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::uint64_t kSmallestBucket = 1 << 20;
constexpr std::uint64_t kLargestBucket = 128 << 20;

Seconds expected(const TunerSetting& setting, const SearchSpace& space, const NetworkLink& link) {
  const double buckets =
      std::max(1.0, space.gradient_bytes / static_cast<double>(setting.bucket.count));
  const double rate =
      std::min(link.flow.bytes_per_second * setting.flows, link.shared.bytes_per_second);
  const double last = std::min(static_cast<double>(setting.bucket.count), space.gradient_bytes);
  // Each stream and each flow adds work.
  const Seconds latency =
      link.latency * (buckets / setting.streams + setting.streams + setting.flows);
  return Seconds((space.gradient_bytes + last) / rate) + latency;
}

}  // namespace

std::vector<Prediction> predictions(const SearchSpace& space, const NetworkLink& link) {
  std::vector<Prediction> all;
  for (int flows = 1; flows <= space.most_flows; flows *= 2)
    for (int streams = 1; streams <= space.most_streams; streams *= 2)
      for (std::uint64_t bucket = kSmallestBucket; bucket <= kLargestBucket; bucket *= 2) {
        const TunerSetting setting{flows, streams, {bucket}};
        all.push_back({setting, expected(setting, space, link)});
      }
  std::ranges::stable_sort(all, {}, &Prediction::expected);
  return all;
}

Tuner::Tuner(const SearchSpace& space, const NetworkLink& link) : space_(space) {
  add(space.usual);
  add_diverse(predictions(space, link), kStages[0].arms);
}

const TunerSetting& Tuner::current() const {
  return arms_[arm_].setting;
}

/// Adds the best of every number of flows first, because predictions are least certain about flows.
void Tuner::add_diverse(std::span<const Prediction> known, std::size_t count) {
  for (int flows = 1; flows <= space_.most_flows && arms_.size() < count; flows *= 2) {
    const auto best = std::ranges::find_if(
        known, [&](const Prediction& each) { return each.setting.flows == flows; });
    if (best != known.end()) add(best->setting);
  }
  for (const Prediction& each : known)
    if (arms_.size() < count) add(each.setting);
}

bool Tuner::add(const TunerSetting& setting) {
  if (contains(tried_, setting)) return false;
  tried_.push_back(setting);
  arms_.push_back({setting});
  return true;
}

void Tuner::step_took(Seconds time) {
  assert(!is_done_);
  ++steps_;
  Arm& arm = arms_[arm_];
  arm.best = arm.best ? std::min(*arm.best, time) : time;
  if (++arm_ < arms_.size()) return;
  arm_ = 0;
  if (++round_ == kStages[stage_].rounds) next_stage();
}

void Tuner::next_stage() {
  round_ = 0;
  if (++stage_ == std::size(kStages)) return finish();
  const Arm usual = *std::ranges::find(arms_, space_.usual, &Arm::setting);
  std::ranges::stable_sort(arms_, {}, [](const Arm& arm) { return *arm.best; });
  const bool brings_new = stage_ == kRefinement || stage_ == kOtherPlans;
  const std::size_t kept = std::min(brings_new ? 1 : kStages[stage_].arms, arms_.size());
  const bool has_usual =
      std::ranges::find(arms_.begin(), arms_.begin() + std::ptrdiff_t(kept), space_.usual,
                        &Arm::setting) != arms_.begin() + std::ptrdiff_t(kept);
  arms_.erase(arms_.begin() + std::ptrdiff_t(kept), arms_.end());
  if (!has_usual && (kept > 1 || brings_new)) {
    if (kept > 1) arms_.pop_back();
    arms_.push_back(usual);
  }
  if (stage_ == kRefinement) add_neighbours(kStages[stage_].arms);
  if (stage_ == kOtherPlans) add_plans(kStages[stage_].arms);
}

/// Adds the neighbours of the best so far: one step of two in each direction, if not tried yet.
void Tuner::add_neighbours(std::size_t count) {
  const TunerSetting best = arms_.front().setting;
  const TunerSetting around[] = {{best.flows, best.streams, {best.bucket.count / 2}, best.plan},
                                 {best.flows, best.streams, {best.bucket.count * 2}, best.plan},
                                 {best.flows * 2, best.streams, best.bucket, best.plan},
                                 {best.flows, best.streams * 2, best.bucket, best.plan},
                                 {best.flows / 2, best.streams, best.bucket, best.plan},
                                 {best.flows, best.streams / 2, best.bucket, best.plan}};
  for (const TunerSetting& each : around) {
    const bool is_possible = each.flows >= 1 && each.flows <= space_.most_flows &&
                             each.streams >= 1 && each.streams <= space_.most_streams &&
                             each.bucket.count >= kSmallestBucket &&
                             each.bucket.count <= kLargestBucket;
    if (is_possible && arms_.size() < count) add(each);
  }
}

void Tuner::add_plans(std::size_t count) {
  TunerSetting other = arms_.front().setting;
  for (const AllReducePlan& plan : space_.plans) {
    other.plan = plan;
    if (arms_.size() < count) add(other);
  }
}

void Tuner::finish() {
  is_done_ = true;
  const Arm& usual = *std::ranges::find(arms_, space_.usual, &Arm::setting);
  const Arm& best = *std::ranges::min_element(arms_, {}, [](const Arm& arm) { return *arm.best; });
  const bool is_better = *best.best < *usual.best * (1 - kWorthwhile);
  const TunerSetting chosen = is_better ? best.setting : usual.setting;
  arms_ = {{chosen}};
  arm_ = 0;
}

}  // namespace fastgpu::comm
