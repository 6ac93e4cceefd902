#include "agent/gpu_links.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "base/cancel.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/split.hpp"
#include "process/capture.hpp"

namespace fastgpu::agent {
namespace {

using MatrixRow = std::vector<std::string_view>;

/// A matrix with more GPUs is not read to its end.
constexpr std::size_t kMostGpusOfMatrix = 64;

/// Returns the number of links in a cell, "NV12"; 0 for "SYS", "PIX" and all others.
int links_in_cell(std::string_view cell) {
  if (!cell.starts_with("NV")) return 0;
  return std::clamp(to_number<int>(cell.substr(2)).value_or(0), 0, kMostGpuLinks);
}

/// Returns true for the row of GPU `number`: its name, and then its cells, with an X for itself.
/// The head of the matrix begins with the name of a GPU, too.
bool is_row_of(std::size_t number, const MatrixRow& words) {
  return words.size() > number + 1 && words[0] == "GPU" + std::to_string(number) &&
         words[number + 1] == "X";
}

/// Returns the cells of each GPU's row. Those for the other GPUs come first, in the order of the
/// rows; adapters and CPUs follow.
std::vector<MatrixRow> rows_of(std::string_view matrix) {
  std::vector<MatrixRow> rows;
  for (const std::string_view line : split_lines(matrix)) {
    MatrixRow words = split_words(line);
    if (rows.size() == kMostGpusOfMatrix || !is_row_of(rows.size(), words)) continue;
    words.erase(words.begin());
    rows.push_back(std::move(words));
  }
  return rows;
}

int links_between(const std::vector<MatrixRow>& rows, std::size_t from, std::size_t to) {
  return to < rows[from].size() ? links_in_cell(rows[from][to]) : 0;
}

/// Returns the address as the kernel writes it: "0000:3b:00.0" for "00000000:3B:00.0".
std::string kernel_address(std::string_view address) {
  constexpr std::size_t kDomainDigits = 4;
  std::string text = ascii_lower(trimmed(address));
  while (text.find(':') > kDomainDigits && text.starts_with('0'))
    text.erase(0, 1);
  return text;
}

/// Returns the index among `gpus` of each of nvidia-smi's; absent unless they are the same.
std::optional<std::vector<int>> indexes_of(std::string_view addresses,
                                           std::span<const NearDevice> gpus) {
  std::vector<int> indexes;
  for (const std::string_view line : split_lines(addresses)) {
    if (trimmed(line).empty()) continue;
    const auto found = std::ranges::find(gpus, kernel_address(line), &NearDevice::name);
    const auto index = static_cast<int>(found - gpus.begin());
    if (found == gpus.end() || std::ranges::count(indexes, index) > 0) return std::nullopt;
    indexes.push_back(index);
  }
  if (indexes.size() != gpus.size()) return std::nullopt;
  return indexes;
}

std::string output_of_nvidia_smi(std::vector<std::string> arguments) {
  constexpr std::chrono::seconds kTimeout{10};
  const Cancel never;
  arguments.insert(arguments.begin(), "nvidia-smi");
  const auto done = process::capture({.argv = std::move(arguments)}, {.timeout = kTimeout}, never);
  return done.status.ok() ? done.out : "";
}

}  // namespace

std::vector<GpuLink> links_of_matrix(std::string_view matrix) {
  const std::vector<MatrixRow> rows = rows_of(matrix);
  std::vector<GpuLink> links;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = i + 1; k < rows.size(); ++k)
      if (const int count = std::min(links_between(rows, i, k), links_between(rows, k, i)))
        links.push_back(
            {.first = static_cast<int>(i), .second = static_cast<int>(k), .count = count});
  return links;
}

std::vector<GpuLink> links_by_address(std::span<const GpuLink> links, std::string_view addresses,
                                      std::span<const NearDevice> gpus) {
  const auto indexes = indexes_of(addresses, gpus);
  std::vector<GpuLink> out;
  if (!indexes) return out;
  const auto index_of = [&](int number) { return indexes->at(static_cast<std::size_t>(number)); };
  for (const GpuLink& link : links) {
    if (std::cmp_greater_equal(link.second, indexes->size())) return {};
    const auto [first, second] = std::minmax({index_of(link.first), index_of(link.second)});
    out.push_back({.first = first, .second = second, .count = link.count});
  }
  std::ranges::sort(out, {},
                    [](const GpuLink& link) { return std::pair(link.first, link.second); });
  return out;
}

std::vector<GpuLink> read_gpu_links(std::span<const NearDevice> gpus) try {
  const auto links = links_of_matrix(output_of_nvidia_smi({"topo", "-m"}));
  if (links.empty()) return {};
  return links_by_address(
      links, output_of_nvidia_smi({"--query-gpu=pci.bus_id", "--format=csv,noheader"}), gpus);
} catch (const Error& e) {
  if (e.kind() == ErrorKind::timeout) throw;
  return {};  // This node has no nvidia-smi.
}

}  // namespace fastgpu::agent
