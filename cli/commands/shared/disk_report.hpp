// A report on disks that are nearly full, and on what fastgpu has stored there.
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

/// Examines the disks of the state directory and of local nodes. Returns those that are nearly
/// full. Directories are measured only on these.
std::vector<DiskReport> report_full_disks(Context& context);

Json to_json(const DiskReport& report);

/// Returns the report as text lines: the disk, its biggest items, and how to free space.
std::vector<std::string> lines_of(const DiskReport& report);

}  // namespace fastgpu::cli
