#include "launcher/array.hpp"

#include <algorithm>
#include <set>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"
#include "launcher/job.hpp"

namespace fastgpu::launcher {
namespace {

constexpr std::size_t kLongestParameters = 4'096;
constexpr std::size_t kMostColumns = 100;

enum class Layout : std::uint8_t { words, commas, tabs };

Layout layout_of(std::string_view path) {
  if (path.ends_with(".csv")) return Layout::commas;
  if (path.ends_with(".tsv")) return Layout::tabs;
  return Layout::words;
}

/// Splits at every `at`; an empty text is one empty part.
std::vector<std::string> parts_of(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const auto end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string> words_of(std::string_view line) {
  constexpr const char* kBlanks = " \t";
  std::vector<std::string> words;
  for (auto begin = line.find_first_not_of(kBlanks); begin != line.npos;) {
    const auto end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.emplace_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

/// Splits a line of comma-separated values. A value in double quotes may contain commas, and ""
/// for a quote. Throws usage for an open quote.
std::vector<std::string> values_of(std::string_view line) {
  std::vector<std::string> values(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_double = is_quoted && c == '"' && line.substr(i + 1).starts_with('"');
    if (is_double) {
      values.back() += '"';
      ++i;
    } else if (c == '"' && (is_quoted || values.back().empty())) {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  if (is_quoted) throw Error(ErrorKind::usage, "a quote is not closed on this line");
  return values;
}

std::vector<std::string> columns_of(std::string_view line, Layout layout) {
  switch (layout) {
    case Layout::words:
      return words_of(line);
    case Layout::commas:
      return values_of(line);
    case Layout::tabs:
      return parts_of(line, '\t');
  }
  return {};
}

/// Returns true for a variable that the start of a program reads: with a parameter in it, no rank
/// would begin.
bool is_read_at_start(std::string_view name) {
  return name == "PATH" || name == "HOME" || name.starts_with("LD_");
}

/// Throws usage unless the names can be those of variables.
void check_column_names(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (!is_variable_name(name))
      throw Error(ErrorKind::usage, "'" + printable(name) +
                                        "' is not a variable name: the first line has the names of "
                                        "the columns");
    if (name.starts_with("FASTGPU_"))
      throw Error(ErrorKind::usage, "the variable " + name + " is set by fastgpu");
    check_rank_variable(name);
    if (is_read_at_start(name))
      throw Error(ErrorKind::usage, "the variable " + name +
                                        " is needed to start programs: give this column another "
                                        "name");
    if (!seen.insert(name).second)
      throw Error(ErrorKind::usage, "there are two columns '" + name + "'");
  }
}

void check_row(const ParameterTable& table, const ParameterRow& row) {
  if (row.line.find('\0') != std::string::npos)
    throw Error(ErrorKind::usage, "the line has a NUL byte");
  if (row.line.size() > kLongestParameters)
    throw Error(ErrorKind::usage, "the line has " + counted(row.line.size(), "byte") +
                                      "; at most " + std::to_string(kLongestParameters) +
                                      " are allowed");
  if (row.columns.size() > kMostColumns)
    throw Error(ErrorKind::usage, "the line has " + counted(row.columns.size(), "column") +
                                      "; at most " + std::to_string(kMostColumns) + " are allowed");
  if (!table.names.empty() && row.columns.size() != table.names.size())
    throw Error(ErrorKind::usage, "the line has " + counted(row.columns.size(), "column") +
                                      ", and the first line has " +
                                      std::to_string(table.names.size()));
}

/// Adds a line to the table. The first one of a file with names of columns has them.
void take_line(ParameterTable& table, std::string_view line, Layout layout) {
  const bool has_names = layout != Layout::words;
  ParameterRow row{.line = std::string(line), .columns = columns_of(line, layout)};
  if (has_names && table.names.empty()) {
    check_column_names(row.columns);
    table.names = std::move(row.columns);
    return;
  }
  check_row(table, row);
  table.rows.push_back(std::move(row));
}

[[noreturn]] void refuse_range(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::usage, "--array '" + printable(text) + "' " + why +
                                    ": write it like 1-20, 0-100:10, 1,5,9 or 1-20%4");
}

int index_in(std::string_view text, std::string_view whole) try {
  return parse_integer(text, 0, kMostIndex);
} catch (const Error&) {
  refuse_range(whole, "has '" + printable(text) + "', which is not a number from 0 to " +
                          std::to_string(kMostIndex));
}

/// Returns the number of jobs that may run at once.
int limit_in(std::string_view text, std::string_view whole) {
  const auto limit = to_number<long long>(text);
  if (limit && *limit == 0) refuse_range(whole, "allows no job at once");
  if (!limit || *limit < 0 || *limit > kMostIndex)
    refuse_range(whole, "allows '" + printable(text) +
                            "' jobs at once, which is not a number from 1 to " +
                            std::to_string(kMostIndex));
  return static_cast<int>(*limit);
}

[[noreturn]] void refuse_many_elements(std::size_t wanted) {
  throw Error(ErrorKind::usage, "the array has " + counted(wanted, "job") + "; at most " +
                                    std::to_string(kMostElements) + " are allowed");
}

/// Adds the indices of "5", "1-20" or "0-100:10".
void add_indices(std::set<int>& indices, std::string_view part, std::string_view whole) {
  const auto dash = part.find('-');
  const int first = index_in(part.substr(0, dash), whole);
  if (dash == std::string_view::npos) {
    indices.insert(first);
    return;
  }
  std::string_view rest = part.substr(dash + 1);
  int step = 1;
  if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
    step = index_in(rest.substr(colon + 1), whole);
    if (step == 0) refuse_range(whole, "has a step of 0");
    rest = rest.substr(0, colon);
  }
  const int last = index_in(rest, whole);
  if (last < first)
    refuse_range(whole, "goes from " + std::to_string(first) + " down to " + std::to_string(last));
  const auto count = static_cast<std::size_t>((last - first) / step) + 1;
  if (count > kMostElements) refuse_many_elements(count);
  for (int index = first; index <= last; index += step)
    indices.insert(index);
}

ArrayElement element_of(int index, const ParameterTable* table) {
  ArrayElement element{.index = index};
  if (table == nullptr) return element;
  const ParameterRow& row = table->rows.at(static_cast<std::size_t>(index) - 1);
  element.variables.push_back("FASTGPU_PARAMETERS=" + row.line);
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    element.variables.push_back("FASTGPU_PARAMETER_" + std::to_string(i + 1) + "=" +
                                row.columns[i]);
    if (!table->names.empty()) element.variables.push_back(table->names[i] + "=" + row.columns[i]);
  }
  return element;
}

}  // namespace

ArrayRange parse_array_range(std::string_view text) {
  ArrayRange range;
  std::string_view list = text;
  if (const auto percent = text.find('%'); percent != std::string_view::npos) {
    range.limit = limit_in(text.substr(percent + 1), text);
    list = text.substr(0, percent);
  }
  std::set<int> indices;
  for (const std::string& part : parts_of(list, ','))
    add_indices(indices, part, text);
  if (indices.size() > kMostElements) refuse_many_elements(indices.size());
  range.indices.assign(indices.begin(), indices.end());
  return range;
}

ParameterTable parse_parameters(std::string_view text, const std::string& path) {
  const Layout layout = layout_of(path);
  ParameterTable table;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool is_empty = line.find_first_not_of(" \t") == std::string_view::npos;
    if (is_empty || line.starts_with('#')) continue;
    try {
      take_line(table, line, layout);
    } catch (const Error& e) {
      throw Error(e.kind(), printable(path) + ":" + std::to_string(number) + ": " + e.what());
    }
  }
  if (table.rows.empty()) throw Error(ErrorKind::usage, printable(path) + " has no parameters");
  return table;
}

std::vector<ArrayElement> array_elements(const std::optional<ArrayRange>& range,
                                         const std::optional<ParameterTable>& parameters) {
  const ParameterTable* const table = parameters ? &*parameters : nullptr;
  std::vector<int> indices;
  if (range) indices = range->indices;
  if (!range && table != nullptr) {
    if (table->rows.size() > kMostElements) refuse_many_elements(table->rows.size());
    for (std::size_t i = 1; i <= table->rows.size(); ++i)
      indices.push_back(static_cast<int>(i));
  }
  std::vector<ArrayElement> elements;
  for (const int index : indices) {
    const bool has_row =
        table == nullptr || (index >= 1 && static_cast<std::size_t>(index) <= table->rows.size());
    if (!has_row)
      throw Error(ErrorKind::usage, "the array has the index " + std::to_string(index) +
                                        ", but the file of parameters has the lines 1 to " +
                                        std::to_string(table->rows.size()));
    elements.push_back(element_of(index, table));
    elements.back().count = static_cast<int>(indices.size());
  }
  return elements;
}

std::string array_of(std::string_view job_id) {
  const auto dot = job_id.find('.');
  return dot == std::string_view::npos ? "" : std::string(job_id.substr(0, dot));
}

std::string element_id(const std::string& array, int index) {
  return array + "." + std::to_string(index);
}

}  // namespace fastgpu::launcher
