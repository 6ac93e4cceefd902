// Arrays: one job for each index of a range, or for each line of a file. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/job_record.hpp"

namespace fastgpu::launcher {

using state::ArrayElement;

/// The maximum number of jobs of an array.
inline constexpr int kMostElements = 1'000;
/// The largest index.
inline constexpr int kMostIndex = 1'000'000;

/// The indices of an array, each once and sorted.
struct ArrayRange {
  std::vector<int> indices{};
  std::optional<int> limit{};  ///< This many jobs run at once; absent for no limit.
};

/// Parses "1-20%4", "0,5,7" or "0-100:10". Throws usage for anything else, for an index beyond 1
/// 000 000 and for more than 1000 indices.
ArrayRange parse_array_range(std::string_view text);

/// A line of a file of parameters.
struct ParameterRow {
  std::string line{};
  std::vector<std::string> columns{};
};

/// The content of a file of parameters.
struct ParameterTable {
  std::vector<std::string> names{};  ///< The names of the columns; empty if the file has none.
  std::vector<ParameterRow> rows{};
};

/// Parses the text of a file of parameters. A name ending in .csv or .tsv means columns with their
/// names in the first line; any other file has columns that are separated by blanks. Empty lines,
/// and lines that begin with '#', are not counted. Throws usage, with the path and the line, for a
/// file without parameters, an invalid name, or a line with another number of columns.
ParameterTable parse_parameters(std::string_view text, const std::string& path);

/// Returns the elements of an array. Without a range there is one for each row; with one, the index
/// is the number of the row, from 1. Throws usage for an index without a row, and for too many.
std::vector<ArrayElement> array_elements(const std::optional<ArrayRange>& range,
                                         const std::optional<ParameterTable>& parameters);

/// Returns the id of the array that the job belongs to; empty for a job by itself.
std::string array_of(std::string_view job_id);

/// Returns the id of an element.
std::string element_id(const std::string& array, int index);

}  // namespace fastgpu::launcher
