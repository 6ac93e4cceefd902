// Finds the rows of a name, and near names without any.
#include <algorithm>
#include <cstdlib>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "envs/matrix/matrix.hpp"

namespace fastgpu::envs {
namespace {

bool fits(const Accelerator& wanted, const Accelerator& offered) {
  return wanted.platform == offered.platform && covers(wanted.version, offered.version);
}

/// Returns true if `a` is better: offered rather than not, then newer.
bool is_better(const FrameworkRow& a, const FrameworkRow& b) {
  if (a.offered != b.offered) return a.offered;
  if (const auto order = compare_versions(a.version, b.version); order != 0) return order > 0;
  return compare_versions(a.accelerator.version, b.accelerator.version) > 0;
}

std::optional<FrameworkRow> best_row(const Matrix& matrix, const FrameworkVersion& wanted,
                                     const Accelerator& accelerator, const std::string& python) {
  std::optional<FrameworkRow> best;
  for (const FrameworkRow& row : matrix.frameworks)
    if (row.framework == wanted.framework && covers(wanted.version, row.version) &&
        fits(accelerator, row.accelerator) && contains(row.python, python) &&
        (!best || is_better(row, *best)))
      best = row;
  return best;
}

/// Returns the distinct texts in the order of versions, joined by commas.
std::string list_versions(std::vector<std::string> versions) {
  std::ranges::sort(versions,
                    [](const auto& a, const auto& b) { return compare_versions(a, b) < 0; });
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  return joined(versions);
}

std::string whole_name(const FrameworkRow& row) {
  return std::string(display_name(row.framework)) + " " + row.version;
}

/// Returns why `wanted` has no row.
std::string reason(const Matrix& matrix, const EnvironmentName& name,
                   const FrameworkVersion& wanted) {
  const std::string framework(display_name(wanted.framework));
  const std::string whole = framework + " " + wanted.version;
  std::vector<std::string> versions;
  std::vector<std::string> accelerators;
  std::vector<std::string> pythons;
  for (const FrameworkRow& row : matrix.frameworks) {
    if (row.framework != wanted.framework) continue;
    versions.push_back(row.version);
    if (!covers(wanted.version, row.version)) continue;
    accelerators.push_back(to_string(row.accelerator));
    if (fits(name.accelerator, row.accelerator))
      pythons.insert(pythons.end(), row.python.begin(), row.python.end());
  }
  if (accelerators.empty()) return whole + " is unknown; known: " + list_versions(versions);
  if (pythons.empty())
    return whole + " is available for " + list_versions(accelerators) + ", not for " +
           to_string(name.accelerator);
  return whole + " for " + to_string(name.accelerator) + " is available for Python " +
         list_versions(pythons) + ", not for " + name.python;
}

/// Returns the distance of two versions in a list of them; 0 if one covers the other. Any change
/// weighs more than its size: a user who requests CUDA 13.0 may want that above all.
int distance_between(const std::vector<std::string>& sorted, const std::string& wanted,
                     const std::string& version) {
  if (covers(wanted, version)) return 0;
  const auto place = [&](const std::string& of) {
    return static_cast<int>(std::ranges::count_if(
        sorted, [&](const std::string& other) { return compare_versions(other, of) < 0; }));
  };
  constexpr int kAnyChange = 20;
  return kAnyChange + std::abs(place(version) - place(wanted));
}

struct Near {
  EnvironmentName name;
  int distance = 0;
};

class Neighbours {
 public:
  Neighbours(const Matrix& matrix, const EnvironmentName& wanted)
      : matrix_(matrix), wanted_(wanted) {
    for (const FrameworkRow& row : matrix.frameworks) {
      if (!contains(accelerators_, row.accelerator)) accelerators_.push_back(row.accelerator);
    }
  }

  std::vector<Near> all() const {
    std::vector<Near> found;
    for (const Accelerator& accelerator : accelerators_)
      for (const PythonRelease& python : matrix_.pythons)
        if (auto near = on(accelerator, python.version)) found.push_back(*std::move(near));
    std::ranges::stable_sort(found, {}, &Near::distance);
    return found;
  }

 private:
  std::vector<std::string> versions_of(Framework framework) const {
    std::vector<std::string> versions;
    for (const FrameworkRow& row : matrix_.frameworks)
      if (row.framework == framework && !contains(versions, row.version))
        versions.push_back(row.version);
    return versions;
  }

  int distance(const Accelerator& accelerator) const {
    constexpr int kOtherPlatform = 200;
    if (accelerator.platform != wanted_.accelerator.platform) return kOtherPlatform;
    std::vector<std::string> versions;
    for (const Accelerator& known : accelerators_)
      if (known.platform == accelerator.platform) versions.push_back(known.version);
    return distance_between(versions, wanted_.accelerator.version, accelerator.version);
  }

  /// Returns the row of that framework there with the nearest version, and its distance.
  std::optional<std::pair<FrameworkRow, int>> nearest_row(const FrameworkVersion& wanted,
                                                          const Accelerator& accelerator,
                                                          const std::string& python) const {
    const std::vector<std::string> versions = versions_of(wanted.framework);
    std::optional<std::pair<FrameworkRow, int>> nearest;
    for (const FrameworkRow& row : matrix_.frameworks) {
      if (row.framework != wanted.framework || row.accelerator != accelerator) continue;
      if (!row.offered || !contains(row.python, python)) continue;
      const int steps = distance_between(versions, wanted.version, row.version);
      if (!nearest || steps <= nearest->second) nearest = {row, steps};
    }
    return nearest;
  }

  std::optional<Near> on(const Accelerator& accelerator, const std::string& python) const {
    Near near{.name = {.has_prefix = wanted_.has_prefix,
                       .frameworks = {},
                       .accelerator = accelerator,
                       .python = python}};
    for (const FrameworkVersion& wanted : wanted_.frameworks) {
      const auto row = nearest_row(wanted, accelerator, python);
      if (!row) return std::nullopt;
      const bool covered = covers(wanted.version, row->first.version);
      near.name.frameworks.push_back(
          {wanted.framework, covered ? wanted.version : row->first.version});
      near.distance += row->second;
    }
    std::vector<std::string> pythons;
    for (const PythonRelease& known : matrix_.pythons)
      pythons.push_back(known.version);
    near.distance += distance(accelerator) + distance_between(pythons, wanted_.python, python);
    return near;
  }

  const Matrix& matrix_;
  const EnvironmentName& wanted_;
  std::vector<Accelerator> accelerators_;
};

[[noreturn]] void refuse(const Matrix& matrix, const EnvironmentName& name,
                         const std::string& why) {
  std::string near;
  for (const EnvironmentName& possible : nearest_possible(matrix, name, 3))
    append_item(near, to_string(possible));
  throw Error(ErrorKind::usage, "environment " + to_string(name) + " is not possible: " + why +
                                    (near.empty() ? "; fastgpu env matrix shows the possible ones"
                                                  : "; nearest: " + near));
}

}  // namespace

bool Combination::offered() const noexcept {
  return std::ranges::all_of(rows, &FrameworkRow::offered);
}

std::vector<std::string> Combination::losses() const {
  std::vector<std::string> sentences;
  for (const FrameworkRow& row : rows) {
    if (row.offered) continue;
    const std::string what = whole_name(row) + " is no longer available";
    sentences.push_back(row.note.empty() ? what : what + ": " + row.note);
  }
  return sentences;
}

std::vector<std::string> Combination::warnings() const {
  std::vector<std::string> sentences = losses();
  if (nearest) sentences.push_back("the nearest available name is " + to_string(*nearest));
  for (const FrameworkRow& row : rows)
    if (row.offered && !row.note.empty()) sentences.push_back(whole_name(row) + " is " + row.note);
  if (cuda && !cuda->offered)
    sentences.push_back("CUDA " + cuda->version +
                        " is in no package repository of a current distribution");
  if (python && !python->uv && python->conda)
    sentences.push_back("there is no archive of Python " + python->version +
                        ": it must be on the nodes or come from conda");
  return sentences;
}

Combination resolve(const Matrix& matrix, const EnvironmentName& name) {
  Combination combination{.name = name, .rows = {}};
  for (const FrameworkVersion& wanted : name.frameworks) {
    auto row = best_row(matrix, wanted, name.accelerator, name.python);
    if (!row) refuse(matrix, name, reason(matrix, name, wanted));
    combination.rows.push_back(*std::move(row));
  }
  if (name.accelerator.platform == Platform::cuda)
    combination.cuda = find_cuda(matrix, name.accelerator.version);
  for (const PythonRelease& python : matrix.pythons)
    if (python.version == name.python) combination.python = python;
  if (!combination.offered())
    for (EnvironmentName& near : nearest_possible(matrix, name, 1))
      combination.nearest = std::move(near);
  return combination;
}

std::vector<Accelerator> possible_accelerators(const Matrix& matrix, const EnvironmentName& name) {
  std::vector<Accelerator> possible;
  for (const FrameworkRow& row : matrix.frameworks) {
    const bool has_all = std::ranges::all_of(name.frameworks, [&](const FrameworkVersion& wanted) {
      return best_row(matrix, wanted, row.accelerator, name.python).has_value();
    });
    if (has_all && !contains(possible, row.accelerator)) possible.push_back(row.accelerator);
  }
  std::ranges::sort(possible, [](const Accelerator& a, const Accelerator& b) {
    if (a.platform != b.platform) return a.platform < b.platform;
    return compare_versions(a.version, b.version) < 0;
  });
  return possible;
}

std::vector<EnvironmentName> nearest_possible(const Matrix& matrix, const EnvironmentName& name,
                                              std::size_t most) {
  std::vector<EnvironmentName> names;
  for (Near& near : Neighbours(matrix, name).all()) {
    if (names.size() == most) break;
    names.push_back(std::move(near.name));
  }
  return names;
}

}  // namespace fastgpu::envs
