// The contents of fastgpu's disks, once these are nearly full.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/program/context.hpp"
#include "cli/ui/view.hpp"
#include "state/disk_use.hpp"

namespace fastgpu::cli {

/// A nearly full disk, and fastgpu's items on it, the biggest first.
struct DiskReport {
  struct Item {
    std::string what;  ///< "node demo-0"
    state::FolderUse use;
  };
  std::filesystem::path place;
  state::Room room;
  std::vector<Item> items;
};

/// Examines the disks of the state directory and of local nodes; returns those that are nearly
/// full. Sizes are measured for these alone.
std::vector<DiskReport> report_full_disks(Context& context);

Json to_json(const DiskReport& report);

/// Returns the report as lines for people: the disk, its biggest items, and the way to make room.
std::vector<std::string> lines_of(const DiskReport& report);

}  // namespace fastgpu::cli
