// Refusals of several places as one sentence.
#pragma once

#include <span>
#include <string>

namespace fastgpu::provision {

/// Returns the sentences as one, each of them once. Sentences that differ in a single word, such as
/// the zone, are one sentence with all these words: "launching 2 big in r1a, r1b, r2a: no stock".
/// Others are separated by "; and elsewhere ", at most four of them. The ids of the requests
/// ("(request 1234)") do not distinguish sentences, and only one that stands alone keeps its id.
/// Pure.
std::string merged_refusals(std::span<const std::string> sentences);

}  // namespace fastgpu::provision
