#include "cli/program/schemas.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/names.hpp"

namespace fastgpu::cli {

namespace {

constexpr Schema kSchemas[] = {
#include "templates/schemas.inc"
};

constexpr std::array<std::string_view, 3> kSchemaFiles = {"cluster", "environment", "job"};
constexpr std::string_view kDocumentSuffix = "-document";

std::string schema_field_of(std::string_view kind) {
  return "fastgpu." + std::string(kind) + "/1";
}

}  // namespace

std::span<const Schema> all_schemas() {
  return kSchemas;
}

std::string_view document_kind(const Schema& schema) {
  if (contains(kSchemaFiles, schema.name)) return "";
  std::string_view kind = schema.name;
  if (kind.ends_with(kDocumentSuffix)) kind.remove_suffix(kDocumentSuffix.size());
  return kind;
}

const Schema& find_schema(const std::string& name) {
  std::vector<std::string> names;
  for (const Schema& schema : kSchemas) {
    const std::string_view kind = document_kind(schema);
    if (name == schema.name || (!kind.empty() && name == schema_field_of(kind))) return schema;
    names.emplace_back(schema.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error(ErrorKind::usage, "schema: '" + printable(name) + "' is unknown" +
                                    (nearest.empty() ? "" : ", did you mean " + nearest + "?") +
                                    " (`fastgpu schema` lists the names)");
}

}  // namespace fastgpu::cli
