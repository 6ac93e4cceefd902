#include "comm/trace/rank_record.hpp"

#include <exception>
#include <ostream>
#include <utility>

#include "comm/trace/clock.hpp"

namespace fastgpu::comm {

RankRecord::RankRecord(Communicator& control, const RecordFolders& folders, RankFiles::Warn warn,
                       Timeline::Clock::duration between_writes, Counts counts)
    : control_(control),
      rank_(control.rank()),
      counters_file_("FASTGPU_COMM_COUNTERS", folders.counters, rank_, warn),
      timeline_file_("FASTGPU_COMM_TIMELINE", folders.timeline, rank_, std::move(warn)),
      schedule_(between_writes),
      counts_(std::move(counts)) {
  if (!timeline_file_.is_wanted()) return;
  timeline_.emplace();
  ahead_ = ahead_of_rank_0(control);
}

RankRecord::~RankRecord() {
  try {
    write();
  } catch (const std::exception&) {
    return;  // Out of memory at the end: the files stay incomplete.
  }
}

void RankRecord::write_if_due() {
  schedule_.write_if_due([this] { write(); });
}

void RankRecord::write() {
  if (timeline_)
    timeline_file_.write(".json",
                         [this](std::ostream& out) { timeline_->write(out, rank_, ahead_); });
  if (counters_file_.is_wanted()) write_counters();
}

void RankRecord::write_counters() {
  const std::vector<Counter> counters = counts_();
  const std::vector<LinkCounters> links = control_.links();
  counters_file_.write(".json",
                       [&](std::ostream& out) { out << counters_json(counters, links, rank_); });
  // Prometheus takes each count of a rank once.
  counters_file_.write_if_first(
      ".prom", [&](std::ostream& out) { out << counters_prometheus(counters, links, rank_); });
}

}  // namespace fastgpu::comm
