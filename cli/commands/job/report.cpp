// report: shows how the ranks of a job ended, on a terminal or as a page.
#include <chrono>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/job/recorded_job.hpp"
#include "cli/commands/job/report_page.hpp"
#include "cli/commands/shared/out_file.hpp"
#include "cli/workflows/job_evidence.hpp"
#include "cli/workflows/lookup.hpp"

namespace fastgpu::cli {
namespace {

struct ReportOptions {
  std::string job;
  OutFile out;
};

int run_report(Context& context, const ReportOptions& options) {
  if (!options.out.path.empty()) check_out_file(options.out);
  const OpenJob open = open_for_outcome(context, find_job(context, options.job));
  if (open.job.state == state::JobState::queued)
    throw Error(ErrorKind::conflict,
                "job " + open.job.id + " is queued: there is nothing to report");
  context.ui().waiting("reading job " + open.job.id + " on its nodes");
  const JobEvidence evidence = evidence_of(context, open, WithFacts::no);
  context.ui().end_progress();
  for (const std::string& what : evidence.missing)
    context.ui().warn("the report is incomplete: " + what);
  const auto now = std::chrono::system_clock::now();
  if (!options.out.path.empty()) {
    write_out_file(options.out, report_page(evidence, now));
    context.ui().note("report of job " + open.job.id + ": " + options.out.path);
    if (context.ui().for_people()) return 0;
  }
  context.ui().show(report_view(evidence, now));
  return 0;
}

}  // namespace

Action make_report_command(Arguments& arguments) {
  auto options = std::make_shared<ReportOptions>();
  arguments.offer_table();
  arguments.offer_page();
  Argument& job =
      arguments.text("JOB", "", "The job; a name without a number is its newest run", options->job);
  job.required = true;
  job.values = Values::job;
  describe_out_file(arguments,
                    "Write the report to a file as a page of HTML; -o FILE.html does so, too",
                    options->out);
  return [options](Context& context) { return run_report(context, *options); };
}

}  // namespace fastgpu::cli
