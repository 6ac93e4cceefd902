// The JSON Schemas that are built in: those of the files that fastgpu reads, and those of the
// documents that it prints.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace fastgpu::cli {

struct Schema {
  std::string_view name;  ///< "job": the file; "job-document": the document; "nodes": a document.
  std::string_view text;  ///< JSON.
};

/// Returns all schemas, sorted by their names.
std::span<const Schema> all_schemas();

/// Returns the kind of document that the schema describes: "nodes"; "" for the schema of a file.
std::string_view document_kind(const Schema& schema);

/// Returns the schema by its name, or by the value of a document's field "schema", such as
/// "fastgpu.nodes/1". Throws ErrorKind::usage with the nearest name.
const Schema& find_schema(const std::string& name);

}  // namespace fastgpu::cli
