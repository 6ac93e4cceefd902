#include "cli/commands/job/junit.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/utf8.hpp"
#include "launcher/job_store.hpp"
#include "launcher/job_times.hpp"
#include "state/words.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the text with U+FFFE and U+FFFF escaped: they are valid UTF-8, and no characters of XML.
std::string without_noncharacters(std::string text) {
  for (const auto& [bytes, shown] :
       {std::pair{"\xef\xbf\xbe", "\\ufffe"}, std::pair{"\xef\xbf\xbf", "\\uffff"}})
    for (auto at = text.find(bytes); at != text.npos; at = text.find(bytes, at))
      text.replace(at, std::string_view(bytes).size(), shown);
  return text;
}

/// Returns text for XML 1.0, which has neither control characters nor invalid UTF-8.
std::string xml_text(const std::string& text) {
  std::string out;
  for (const char c : without_noncharacters(escaped(text, Layout::kept))) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\n' || c == '\t')
      out += "&#" + std::to_string(static_cast<int>(c)) + ";";
    else
      out += c;
  }
  return out;
}

std::string seconds_text(std::chrono::milliseconds duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(duration.count()) / 1000);
  return text.data();
}

bool is_failure(const state::Job& job) {
  return launcher::has_ended(job) && job.exit_code != 0;
}

/// Returns the exit code, and the last lines of the rank that failed first.
std::string details_of(const state::Job& job) {
  std::string text = job.exit_code ? "exit code " + std::to_string(*job.exit_code) : "no exit code";
  try {
    if (job.record->failure)
      for (const std::string& line : job.record->failure->last_lines)
        text += "\n" + line;
  } catch (const Error&) {  // The record cannot be read.
    return text;
  }
  return text;
}

/// Returns the element about the restarts of the job; empty without any.
std::string restarts_of(const state::Job& job) {
  try {
    const int restarts = job.record->restarts;
    if (restarts == 0) return {};
    return "    <system-out>restarts: " + std::to_string(restarts) + "</system-out>\n";
  } catch (const Error&) {  // The record cannot be read.
    return {};
  }
}

std::string case_of(const JobAndCluster& one, state::TimePoint now,
                    const std::string& why_unasked) {
  const state::Job& job = one.job;
  const std::string head =
      "  <testcase classname=\"" + xml_text(one.cluster) + "\" name=\"" + xml_text(job.id) +
      "\" time=\"" + seconds_text(launcher::run_time_of(launcher::course_of(job), now)) + "\"";
  const std::string restarts = restarts_of(job);
  if (job.state == state::JobState::succeeded && job.exit_code == 0)
    return restarts.empty() ? head + "/>\n" : head + ">\n" + restarts + "  </testcase>\n";
  const std::string reason = why_unasked.empty() ? job.reason : why_unasked;
  const bool lacks_outputs = job.state == state::JobState::succeeded;
  const std::string state(lacks_outputs ? "outputs" : state::to_string(job.state));
  const char* const kind = is_failure(job) ? "failure" : "error";
  return head + ">\n    <" + kind + " type=\"" + state + "\" message=\"" +
         xml_text(reason.empty() ? state : reason) + "\">" + xml_text(details_of(job)) + "</" +
         kind + ">\n" + restarts + "  </testcase>\n";
}

}  // namespace

std::string junit_report(std::span<const JobAndCluster> jobs, state::TimePoint now,
                         const std::map<std::string, std::string>& unasked) {
  std::size_t failures = 0, errors = 0;
  std::chrono::milliseconds total{0};
  std::string cases;
  for (const JobAndCluster& one : jobs) {
    failures += is_failure(one.job) ? 1 : 0;
    errors += launcher::has_ended(one.job) ? 0 : 1;
    total += launcher::run_time_of(launcher::course_of(one.job), now);
    const auto error = unasked.find(one.job.id);
    cases += case_of(one, now, error == unasked.end() ? "" : error->second);
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"fastgpu\" tests=\"" +
         std::to_string(jobs.size()) + "\" failures=\"" + std::to_string(failures) +
         "\" errors=\"" + std::to_string(errors) + "\" time=\"" + seconds_text(total) + "\">\n" +
         cases + "</testsuite>\n";
}

}  // namespace fastgpu::cli
