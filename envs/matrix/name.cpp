#include "envs/matrix/name.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::envs {
namespace {

constexpr std::string_view kPrefix = "aiacct_";
constexpr std::size_t kLongestName = 200;
constexpr std::string_view kExample = "tf1.15_tr1.4.0_mx1.5.0_cu10.0_py36";

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 && std::ranges::all_of(text, is_ascii_digit);
}

std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// Returns true for numbers joined by dots: "1.15".
bool is_version(std::string_view text) {
  if (text.empty() || text.back() == '.') return false;
  while (!text.empty())
    if (!is_number(take_part(text, '.'))) return false;
  return true;
}

/// Returns true for a version as is_version has it, or one with a release candidate: "8.3.RC1".
bool is_cann_version(std::string_view text) {
  const std::size_t candidate = text.find(".RC");
  if (candidate == std::string_view::npos) return is_version(text);
  return is_version(text.substr(0, candidate)) && is_version(text.substr(candidate + 3));
}

/// The part of a name that is being read, and its position.
class Part {
 public:
  Part(std::string_view name, std::string_view text, std::size_t place)
      : name_(name), text_(text), place_(place) {}

  std::string_view text() const noexcept { return text_; }
  bool begins(std::string_view tag) const { return text_.starts_with(tag); }
  std::string_view after(std::string_view tag) const { return text_.substr(tag.size()); }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::usage, "environment '" + printable(name_) + "': '" + printable(text_) +
                                      "' at character " + std::to_string(place_ + 1) + " " + why);
  }

 private:
  std::string_view name_;
  std::string_view text_;
  std::size_t place_;
};

std::vector<Part> parts_of(std::string_view whole, std::size_t begin) {
  std::vector<Part> parts;
  std::string_view rest = whole.substr(begin);
  for (;;) {
    const std::size_t place = whole.size() - rest.size();
    const bool is_last = rest.find('_') == std::string_view::npos;
    parts.emplace_back(whole, take_part(rest, '_'), place);
    if (is_last) return parts;
  }
}

std::optional<Framework> framework_of(const Part& part) {
  for (const Framework framework : kFrameworks)
    if (part.begins(tag(framework))) return framework;
  return std::nullopt;
}

FrameworkVersion parse_framework(const Part& part, Framework framework) {
  const std::string_view version = part.after(tag(framework));
  if (!is_version(version))
    part.refuse("has no version of " + std::string(display_name(framework)) + ": write it like " +
                std::string(tag(framework)) + "2.5.1");
  return {framework, std::string(version)};
}

bool names_accelerator(const Part& part) {
  return part.text() == "cpu" || part.begins("cu") || part.begins("can");
}

Accelerator accelerator_in(const Part& part) {
  if (part.text() == "cpu") return {};
  if (part.begins("can")) {
    if (!is_cann_version(part.after("can")))
      part.refuse("has no version of CANN: write it like can8.3.RC1");
    return {Platform::cann, std::string(part.after("can"))};
  }
  if (part.begins("cu")) {
    const std::string_view version = part.after("cu");
    if (is_number(version) && version.size() > 1) {
      const auto cut = version.size() - 1;
      part.refuse("lacks the dot of a version of CUDA: did you mean cu" +
                  std::string(version.substr(0, cut)) + "." + std::string(version.substr(cut)) +
                  "?");
    }
    if (!is_version(version)) part.refuse("has no version of CUDA: write it like cu12.4, or cpu");
    return {Platform::cuda, std::string(version)};
  }
  part.refuse("is not an accelerator: write it like cu12.4, cpu or can8.3.RC1");
}

std::string parse_python(const Part& part) {
  if (!part.begins("py")) part.refuse("is not a version of Python: a name ends like py312");
  const std::string_view digits = part.after("py");
  if (is_version(digits) && digits.find('.') != std::string_view::npos) {
    std::string joined = "py";
    std::ranges::copy_if(digits, std::back_inserter(joined), is_ascii_digit);
    part.refuse("has a dot: did you mean " + joined + "?");
  }
  if (!is_number(digits) || digits.size() < 2 || digits.size() > 3 || digits.front() == '0')
    part.refuse("has no version of Python: write it like py36 or py312");
  return std::string(digits.substr(0, 1)) + "." + std::string(digits.substr(1));
}

[[noreturn]] void refuse_unknown(const Part& part) {
  std::vector<std::string> tags = {"cpu", "cu", "can", "py"};
  for (const Framework framework : kFrameworks)
    tags.emplace_back(tag(framework));
  const std::string_view text = part.text();
  const std::size_t letters = std::min(text.find_first_of("0123456789"), text.size());
  const std::string near = nearest_name(text.substr(0, letters), tags);
  std::string why = "is not one of tf, tr, mx, jx, cu, cpu, can and py with a version";
  if (!text.empty() && !near.empty())
    why += ": did you mean " + near + std::string(text.substr(letters)) + "?";
  part.refuse(why);
}

void add_framework(EnvironmentName& name, const Part& part, Framework framework) {
  const auto same = [&](const FrameworkVersion& known) { return known.framework == framework; };
  if (std::ranges::any_of(name.frameworks, same))
    part.refuse("names " + std::string(display_name(framework)) + " a second time");
  name.frameworks.push_back(parse_framework(part, framework));
}

}  // namespace

std::string_view tag(Framework framework) noexcept {
  switch (framework) {
    case Framework::tensorflow:
      return "tf";
    case Framework::pytorch:
      return "tr";
    case Framework::mxnet:
      return "mx";
    case Framework::jax:
      return "jx";
  }
  return "";
}

std::string_view display_name(Framework framework) noexcept {
  switch (framework) {
    case Framework::tensorflow:
      return "TensorFlow";
    case Framework::pytorch:
      return "PyTorch";
    case Framework::mxnet:
      return "MXNet";
    case Framework::jax:
      return "JAX";
  }
  return "";
}

Accelerator parse_accelerator(std::string_view text) {
  return accelerator_in(Part(text, text, 0));
}

std::string to_string(const Accelerator& accelerator) {
  switch (accelerator.platform) {
    case Platform::cpu:
      return "cpu";
    case Platform::cuda:
      return "cu" + accelerator.version;
    case Platform::cann:
      return "can" + accelerator.version;
  }
  return "";
}

WantedName parse_wanted_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName)
    throw Error(ErrorKind::usage, "environment '" + printable(text) +
                                      "': a name is 1 to 200 characters, such as " +
                                      std::string(kExample));
  WantedName wanted;
  EnvironmentName& name = wanted.name;
  name.has_prefix = text.starts_with(kPrefix);
  std::vector<Part> parts = parts_of(text, name.has_prefix ? kPrefix.size() : 0);
  std::size_t at = 0;
  for (; at < parts.size() && !names_accelerator(parts[at]) && !parts[at].begins("py"); ++at) {
    const auto framework = framework_of(parts[at]);
    if (!framework) refuse_unknown(parts[at]);
    add_framework(name, parts[at], *framework);
  }
  const std::string example = "; a whole name is " + std::string(kExample);
  if (at == parts.size())
    parts.back().refuse("is not followed by cu12.4, cpu or the like" + example);
  if (name.frameworks.empty())
    parts[at].refuse("has no framework before it: begin with tf, tr, mx or jx and a version");
  wanted.has_accelerator = names_accelerator(parts[at]);
  if (wanted.has_accelerator) name.accelerator = accelerator_in(parts[at++]);
  if (at == parts.size())
    parts.back().refuse("is not followed by a Python such as py312" + example);
  name.python = parse_python(parts[at]);
  if (at + 1 < parts.size()) parts[at + 1].refuse("comes after Python, where a name ends");
  std::ranges::sort(name.frameworks, {}, &FrameworkVersion::framework);
  return wanted;
}

EnvironmentName parse_environment_name(std::string_view text) {
  WantedName wanted = parse_wanted_name(text);
  if (wanted.has_accelerator) return std::move(wanted.name);
  const std::size_t python = text.rfind('_') + 1;
  Part(text, text.substr(python), python)
      .refuse("comes before an accelerator: put cu12.4, cpu or can8.3.RC1 there");
}

std::string to_string(const WantedName& wanted) {
  std::string text = to_string(wanted.name);
  const std::string cpu = "_cpu_";
  if (!wanted.has_accelerator) text.replace(text.rfind(cpu), cpu.size(), "_");
  return text;
}

std::string to_string(const EnvironmentName& name) {
  std::string text(name.has_prefix ? kPrefix : "");
  for (const FrameworkVersion& framework : name.frameworks)
    text += std::string(tag(framework.framework)) + framework.version + "_";
  text += to_string(name.accelerator) + "_py";
  std::ranges::copy_if(name.python, std::back_inserter(text), is_ascii_digit);
  return text;
}

std::strong_ordering compare_versions(std::string_view a, std::string_view b) noexcept {
  while (!a.empty() && !b.empty()) {
    const std::string_view x = take_part(a, '.');
    const std::string_view y = take_part(b, '.');
    if (is_number(x) && is_number(y)) {
      const auto significant = [](std::string_view digits) {
        return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
      };
      const std::string_view m = significant(x);
      const std::string_view n = significant(y);
      if (const auto order = m.size() <=> n.size(); order != 0) return order;
      if (const auto order = m <=> n; order != 0) return order;
    } else if (is_number(x) != is_number(y)) {
      return is_number(x) <=> is_number(y);
    } else if (const auto order = x <=> y; order != 0) {
      return order;
    }
  }
  return a.size() <=> b.size();
}

bool covers(std::string_view wanted, std::string_view version) noexcept {
  if (!version.starts_with(wanted)) return false;
  return version.size() == wanted.size() || version[wanted.size()] == '.';
}

}  // namespace fastgpu::envs
