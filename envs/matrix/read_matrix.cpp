// Reads matrix.yaml into a Matrix.
#include "config/document.hpp"
#include "envs/matrix/matrix.hpp"

namespace fastgpu::envs {
namespace {

using config::Value;

constexpr const char* kText =
#include "matrix.inc"
    ;

Value need(const Value& map, std::string_view key) {
  const auto found = map.find(key);
  if (!found) throw map.error("'" + std::string(key) + "' is missing");
  return *found;
}

std::string text_or_empty(const Value& map, std::string_view key) {
  const auto found = map.find(key);
  return found ? found->text() : "";
}

bool flag(const Value& map, std::string_view key, bool otherwise) {
  const auto found = map.find(key);
  return found ? found->boolean() : otherwise;
}

int number_or_zero(const Value& map, std::string_view key) {
  const auto found = map.find(key);
  return found ? found->integer(0, 100'000) : 0;
}

std::vector<std::string> texts_or_none(const Value& map, std::string_view key) {
  const auto found = map.find(key);
  return found ? found->texts() : std::vector<std::string>();
}

DriverBranch read_driver(const Value& row) {
  row.allow_only({"branch", "first", "cuda", "maintained"});
  return {.branch = need(row, "branch").integer(1, 100'000),
          .first = need(row, "first").text(),
          .cuda = need(row, "cuda").text(),
          .maintained = flag(row, "maintained", false)};
}

CudaRelease read_cuda(const Value& row) {
  row.allow_only({"version", "least_driver", "compatible_driver", "cudnn", "offered"});
  return {.version = need(row, "version").text(),
          .least_driver = need(row, "least_driver").text(),
          .compatible_driver = need(row, "compatible_driver").text(),
          .cudnn = texts_or_none(row, "cudnn"),
          .offered = flag(row, "offered", true)};
}

GpuModel read_gpu(const Value& row) {
  row.allow_only({"name", "architecture", "ids", "open_modules", "first_driver", "last_driver",
                  "nvswitch_from"});
  return {.name = need(row, "name").text(),
          .architecture = need(row, "architecture").text(),
          .ids = texts_or_none(row, "ids"),
          .open_modules = flag(row, "open_modules", true),
          .first_driver = number_or_zero(row, "first_driver"),
          .last_driver = number_or_zero(row, "last_driver"),
          .nvswitch_from = number_or_zero(row, "nvswitch_from")};
}

PythonRelease read_python(const Value& row) {
  row.allow_only({"version", "uv", "conda"});
  return {.version = need(row, "version").text(),
          .uv = flag(row, "uv", true),
          .conda = flag(row, "conda", true)};
}

/// Expands "3.9-3.13" to all versions between, "3.6" to itself.
std::vector<std::string> read_python_range(const Value& value) {
  const std::string text = value.text();
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) return {text};
  const std::string first = text.substr(0, dash);
  const std::string last = text.substr(dash + 1);
  const auto minor = [&](const std::string& version) {
    const bool is_three = version.starts_with("3.") && version.size() > 2 && version.size() < 5 &&
                          version.find_first_not_of("0123456789", 2) == std::string::npos;
    if (!is_three) throw value.error("must be like 3.9 or 3.9-3.13, not '" + text + "'");
    return std::stoi(version.substr(2));
  };
  std::vector<std::string> all;
  for (int i = minor(first); i <= minor(last); ++i)
    all.push_back("3." + std::to_string(i));
  return all;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

/// Returns the text with {version}, {cu} and {cu.} replaced.
std::string filled(std::string text, const FrameworkRow& row) {
  std::string short_form = to_string(row.accelerator);
  if (row.accelerator.platform == Platform::cuda) std::erase(short_form, '.');
  replace_all(text, "{version}", row.version);
  replace_all(text, "{cu}", short_form);
  replace_all(text, "{cu.}", row.accelerator.version);
  return text;
}

Framework read_framework_tag(const Value& value) {
  for (const Framework framework : kFrameworks)
    if (value.text() == tag(framework)) return framework;
  throw value.error("'" + value.text() + "' is not a framework");
}

void read_framework(const Value& row, std::vector<FrameworkRow>& rows) {
  row.allow_only({"framework", "version", "on", "python", "cudnn", "nccl", "install", "sources",
                  "index", "offered", "note"});
  for (const Value& accelerator : need(row, "on").list()) {
    FrameworkRow made{.framework = read_framework_tag(need(row, "framework")),
                      .version = need(row, "version").text(),
                      .accelerator = accelerator.parsed(
                          [](const std::string& text) { return parse_accelerator(text); }),
                      .python = read_python_range(need(row, "python")),
                      .requirements = {}};
    if (made.accelerator.platform == Platform::cuda) {
      made.cudnn = text_or_empty(row, "cudnn");
      made.nccl = text_or_empty(row, "nccl");
    }
    for (const std::string& text : need(row, "install").texts())
      made.requirements.push_back(filled(text, made));
    made.sources = texts_or_none(row, "sources");
    made.index = filled(text_or_empty(row, "index"), made);
    made.offered = flag(row, "offered", true);
    made.note = text_or_empty(row, "note");
    rows.push_back(std::move(made));
  }
}

KnownSet read_set(const Value& row) {
  row.allow_only({"name", "source"});
  return {.name = need(row, "name").parsed([](const std::string& text) {
            return parse_environment_name(text);
          }),
          .source = need(row, "source").text()};
}

template <class Row>
std::vector<Row> read_all(const Value& root, std::string_view key, Row (*read)(const Value&)) {
  std::vector<Row> rows;
  for (const Value& row : need(root, key).list())
    rows.push_back(read(row));
  return rows;
}

}  // namespace

Matrix builtin_matrix() {
  return parse_matrix(kText, "matrix.yaml");
}

Matrix parse_matrix(const std::string& text, const std::string& source) {
  const config::Document document = config::Document::parse(text, source);
  const Value root = document.root();
  root.allow_only({"date", "source", "drivers", "cudas", "gpus", "pythons", "frameworks", "sets"});
  Matrix matrix{.date = need(root, "date").text(),
                .source = need(root, "source").text(),
                .drivers = read_all(root, "drivers", read_driver),
                .cudas = read_all(root, "cudas", read_cuda),
                .gpus = read_all(root, "gpus", read_gpu),
                .pythons = read_all(root, "pythons", read_python),
                .frameworks = {},
                .sets = read_all(root, "sets", read_set)};
  for (const Value& row : need(root, "frameworks").list())
    read_framework(row, matrix.frameworks);
  return matrix;
}

}  // namespace fastgpu::envs
