#include "cli/program/documents.hpp"

#include "base/ascii.hpp"

namespace fastgpu::cli {

namespace {

constexpr DocumentsOf kDocuments[] = {
    {"create cluster", {"cluster", "plan"}},
    {"start cluster", {"cluster", "results"}},
    {"stop cluster", {"cluster", "results"}},
    {"scale cluster", {"cluster"}},
    {"guard cluster", {"guards"}},
    {"why-awake", {"why-awake"}},
    {"check cluster", {"check-cluster"}},
    {"check net", {"check-net"}},
    {"addip", {"access"}},
    {"mount", {"mounts"}},
    {"rename cluster", {"cluster"}},
    {"delete cluster", {"deleted", "forgotten"}},
    {"delete image", {"deleted"}},
    {"delete job", {"deleted", "plan"}},
    {"get clusters", {"clusters"}},
    {"get nodes", {"nodes"}},
    {"get jobs", {"jobs"}},
    {"get providers", {"providers"}},
    {"get instance-types", {"instance-types"}},
    {"get prices", {"offers"}},
    {"get zones", {"zones"}},
    {"get images", {"images"}},
    {"get quotas", {"quotas"}},
    {"describe cluster", {"cluster"}},
    {"describe node", {"node"}},
    {"describe job", {"job"}},
    {"top", {"top"}},
    {"ssh", {}},
    {"tmux", {"tmux"}},
    {"exec", {"exec"}},
    {"cp", {"copy"}},
    {"run job", {"job", "plan", "jobs"}},
    {"bench comm", {"bench-comm"}},
    {"logs", {"logs"}},
    {"report", {"report"}},
    {"wait job", {"job", "jobs"}},
    {"attach job", {"job"}},
    {"attach cluster", {"cluster"}},
    {"cancel job", {"job", "jobs"}},
    {"env create", {"environment", "environment-plan"}},
    {"env install-frameworks", {"environment", "environment-plan"}},
    {"env bake", {"image", "plan"}},
    {"env list", {"environments"}},
    {"env activate", {"environment-activation"}},
    {"env verify", {"environment-check"}},
    {"env remove", {"environment-removal"}},
    {"env pack", {"environment-archive"}},
    {"env unpack", {"environment", "environment-plan"}},
    {"env demo", {"environment-demo"}},
    {"env lock", {"environment-lock"}},
    {"env diff", {"environment-diff"}},
    {"env matrix", {"env-matrix", "env-combination", "env-combinations"}},
    {"env install-driver", {"driver-plan", "driver-installation"}},
    {"gc", {"gc"}},
    {"init", {"init"}},
    {"schema", {"schemas"}},
    {"completion", {}},
    {"doctor", {"doctor"}},
    {"version", {"version"}},
};

}  // namespace

std::span<const DocumentsOf> all_documents() {
  return kDocuments;
}

bool is_document_kind(std::string_view kind) noexcept {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || is_ascii_digit(c); };
  bool after_letter = false;
  for (const char c : kind) {
    if (!is_letter(c) && (c != '-' || !after_letter)) return false;
    after_letter = c != '-';
  }
  return after_letter;
}

}  // namespace fastgpu::cli
