// The API server's answers other than a success: what they mean, and what helps. Pure.
#pragma once

#include <string>

#include "base/error.hpp"
#include "http/client.hpp"

namespace fastgpu::launcher {

/// Returns true for an answer that another one may follow if the request is repeated unchanged.
bool is_worth_repeating(const http::Response& response);

/// Returns the error for an answer of failure: its kind and a remedy by what the server's
/// own error object says, of which the status code alone has too little. `context` is that of the
/// kubeconfig. A 404 is taken for that of a new MPIJob, which names its kind and its namespace.
Error refusal(const http::Response& response, const std::string& context);

}  // namespace fastgpu::launcher
