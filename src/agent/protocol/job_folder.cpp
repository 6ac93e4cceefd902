#include "agent/protocol/job_folder.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "agent/protocol/records.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/numbers.hpp"

namespace fastgpu::agent {

JobRetention parse_retention(const std::string& text) {
  const auto colon = text.find(':');
  const auto count = to_number<std::size_t>(text.substr(0, colon));
  const auto age =
      colon == std::string::npos ? std::nullopt : to_number<std::uint32_t>(text.substr(colon + 1));
  if (!count || !age)
    throw Error(ErrorKind::usage, "--tidy '" + printable(text) + "' is not COUNT:SECONDS");
  return {.count = *count, .age = std::chrono::seconds(*age)};
}

std::string counted_as(const std::string& folder) {
  return folder.substr(0, folder.find('.'));
}

std::vector<JobFolder> outdated(std::vector<JobFolder> folders, const JobRetention& retention,
                                std::int64_t now) {
  std::erase_if(folders, [](const JobFolder& folder) { return !folder.ended; });
  std::ranges::sort(folders, std::greater<>(),
                    [](const JobFolder& folder) { return *folder.ended; });
  std::vector<JobFolder> old;
  std::set<std::string> kept;  // The newest jobs and arrays.
  for (const JobFolder& folder : folders) {
    const std::string counted = counted_as(folder.name);
    if (kept.size() < retention.count) kept.insert(counted);
    const std::chrono::nanoseconds age(now - *folder.ended);
    if (!kept.contains(counted) || age > retention.age) old.push_back(folder);
  }
  return old;
}

std::string to_text(const JobFolders& folders) {
  Records records;
  records.add("now", folders.now);
  for (const JobFolder& folder : folders.folders) {
    Records item;
    item.add("name", folder.name);
    if (folder.ended) item.add("ended", *folder.ended);
    records.add("folder", item);
  }
  return records.text();
}

JobFolders parse_job_folders(std::string_view text) {
  const Records records(text, "the folders of jobs");
  JobFolders folders{.now = records.number("now")};
  for (const Records& item : records.nested("folder", "the folder of a job")) {
    const bool has_ended = !item.all("ended").empty();
    folders.folders.push_back(
        {.name = item.get("name"),
         .ended = has_ended ? std::optional(item.number("ended")) : std::nullopt});
  }
  return folders;
}

std::string discard_word(const JobFolder& folder) {
  return folder.name + ":" + std::to_string(folder.ended.value_or(0));
}

JobFolder parse_discard_word(const std::string& word) {
  const auto colon = word.rfind(':');
  const auto ended = colon == std::string::npos
                         ? std::nullopt
                         : to_number<std::int64_t>(std::string_view(word).substr(colon + 1));
  if (!ended || colon == 0)
    throw Error(ErrorKind::usage, "'" + printable(word) + "' is not NAME:ENDED");
  return {.name = word.substr(0, colon), .ended = ended};
}

}  // namespace fastgpu::agent
