#include "cli/commands/shared/disk_report.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/file_status.hpp"
#include "cli/workflows/local_place.hpp"
#include "provision/providers/local/durable_files.hpp"
#include "provision/providers/local/overlay_place.hpp"
#include "provision/providers/local/records.hpp"

namespace fastgpu::cli {
namespace {

namespace fs = std::filesystem;
namespace local = provision::local;

constexpr std::size_t kMostShown = 10;
constexpr std::uint64_t kLeastShown = 8'192;

/// The kinds of folders that fill disks: jobs and environments.
constexpr std::array kKinds = {state::KindOfFolder{".fastgpu", "jobs"},
                               state::KindOfFolder{"fastgpu", "envs"}};
constexpr std::array<std::string_view, kKinds.size()> kNames = {"job folders", "environments"};

/// A directory to measure, and its description for the user.
struct DiskPlace {
  std::string what;
  fs::path path;
};

std::vector<DiskPlace> places_of_nodes(const fs::path& storage) {
  std::vector<DiskPlace> places;
  for (const std::string& cluster : local::folders_in(storage)) {
    const auto record = local::read_cluster(storage / cluster);
    if (!record) continue;
    for (const auto& [index, name] : record->nodes)
      places.push_back({"node " + name, storage / cluster / std::to_string(index)});
  }
  return places;
}

std::vector<DiskPlace> places_of_state(const fs::path& directory) {
  std::vector<DiskPlace> places;
  for (const auto& [what, name] :
       {std::pair{"tools and downloads", "tools"}, std::pair{"files being copied", "scratch"},
        std::pair{"keys and records of clusters", "clusters"},
        std::pair{"the state database", "state.db"},
        std::pair{"the state database's log", "state.db-wal"}})
    places.push_back({what, directory / name});
  return places;
}

/// Returns a description of the place with its size, and the parts that a command can remove.
std::string text_of(const DiskPlace& place, const state::FolderUse& use) {
  std::string text = place.what;
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (use.parts[i].count >= kLeastShown)
      text += ", of that " + to_string(use.parts[i]) + " in " + std::string(kNames[i]);
  return text;
}

DiskReport measured(const fs::path& path, const std::vector<DiskPlace>& places,
                    const Cancel& cancel) {
  DiskReport report{path, state::room_at(path), {}};
  for (const DiskPlace& place : places) {
    state::FolderUse use = state::measure(place.path, kKinds, cancel);
    if (use.size.count >= kLeastShown)
      report.items.push_back({text_of(place, use), std::move(use)});
  }
  std::ranges::stable_sort(report.items, std::ranges::greater{},
                           [](const auto& item) { return item.use.size.count; });
  return report;
}

}  // namespace

std::vector<DiskReport> report_full_disks(Context& context) {
  const fs::path directory = context.state_directory();
  const auto storage = local::find_storage(
      {.root = local_place(context.environment(), directory), .init_program = {}});
  std::map<dev_t, std::pair<fs::path, std::vector<DiskPlace>>> disks;
  const auto add = [&](const fs::path& place, const std::vector<DiskPlace>& places) {
    const auto status = find_status(place);
    if (!status) return;
    auto& [first, all] = disks[status->st_dev];
    if (first.empty()) first = place;
    all.insert(all.end(), places.begin(), places.end());
  };
  add(directory, places_of_state(directory));
  if (storage) add(*storage, places_of_nodes(*storage));
  std::vector<DiskReport> reports;
  for (const auto& [device, disk] : disks)
    if (state::is_nearly_full(state::room_at(disk.first)))
      reports.push_back(measured(disk.first, disk.second, context.cancel()));
  return reports;
}

Json to_json(const DiskReport& report) {
  Json out;
  out["path"] = report.place.string();
  out["free_bytes"] = report.room.free.count;
  out["total_bytes"] = report.room.total.count;
  out["items"] = Json::array();
  for (const DiskReport::Item& item : report.items) {
    Json one;
    one["what"] = item.what;
    one["path"] = item.use.path.string();
    one["bytes"] = item.use.size.count;
    one["is_whole"] = item.use.is_whole;
    out["items"].push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> lines_of(const DiskReport& report) {
  std::vector<std::string> lines = {"the disk of " + report.place.string() +
                                    " is nearly full: " + to_string(report.room.free) + " of " +
                                    to_string(report.room.total) + " left"};
  for (const DiskReport::Item& item : report.items) {
    if (lines.size() > kMostShown) break;
    lines.push_back("  " + std::string(item.use.is_whole ? "" : "at least ") +
                    to_string(item.use.size) + "  " + item.what + " (" + item.use.path.string() +
                    ")");
  }
  if (report.items.empty()) lines.push_back("  it is full of other programs' files");
  return lines;
}

}  // namespace fastgpu::cli
