// The text of records, as the store's columns and the copy on a head node have it. JSON ends here:
// above, a record has typed parts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "state/model.hpp"

namespace fastgpu::state {

struct ClusterText {
  std::string spec{};     ///< JSON of Cluster::provider_spec and Cluster::guards.
  std::string network{};  ///< "10.64.1.0/24", or JSON of a CloudPlacement; empty for none.
};

/// Returns the text of the cluster's parts. Parts that are unchanged since they were read keep
/// their text, and fields of a newer fastgpu stay. Throws ErrorKind::local if a part was changed
/// and the record that it is in is damaged.
ClusterText record_text_of(const Cluster& cluster);

/// Reads the parts of `cluster`, whose name and provider are known. Throws nothing for a damaged
/// text: each use of a part that is in it throws.
void read_record_text(Cluster& cluster, ClusterText text);

/// Returns JSON with "schema": "fastgpu.job/1". Of the environment it has the names alone, because
/// values may be secrets.
std::string record_text_of(const JobRecord& record);
/// Returns the text that was read while the record is unchanged.
std::string record_text_of(const Job& job);

/// Returns the part of a job's record that lists show; absent if the record cannot be read.
std::optional<ListedRequest> listed_request(std::string_view text);
/// Returns the same part of a whole record.
ListedRequest listed_request(const JobRecord& record);

/// Returns false if the record names no cause of an end, no rank, node or disk. Does not read it.
bool may_have_bad_end(const Job& job);

/// Reads the record of `job`, whose id is known. Throws nothing for a damaged text: each use of the
/// record throws ErrorKind::remote.
void read_record_text(Job& job, std::string text);

}  // namespace fastgpu::state
