#include "cli/commands/job/own_command.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "cli/ui/standard_streams.hpp"

namespace fastgpu::cli {
namespace {

/// Returns an open file with the text, which has no name.
UniqueFd file_with(const std::string& text) {
  UniqueFd file(::memfd_create("fastgpu", MFD_CLOEXEC));
  if (!file) throw system_error("making a file in memory", errno);
  write_all(file.get(), text, "writing a file in memory");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) throw system_error("reading a file in memory", errno);
  return file;
}

}  // namespace

std::vector<std::string> own_words() {
  const auto text = read_file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::size_t begin = 0; text && begin < text->size();) {
    const std::size_t end = std::min(text->find('\0', begin), text->size());
    words.push_back(text->substr(begin, end - begin));
    begin = end + 1;
  }
  if (words.empty()) throw Error(ErrorKind::local, "/proc/self/cmdline cannot be read");
  words.front() = std::filesystem::read_symlink("/proc/self/exe").string();
  return words;
}

BackgroundAnswer start_in_background() {
  process::Command command{.argv = own_words()};
  command.environment = process::current_environment();
  process::set_variable(*command.environment, std::string(kInQueue) + "=1");
  command.grouping = process::Grouping::session;
  command.in.mode = process::StreamMode::null;
  command.out.mode = process::StreamMode::pipe;
  process::Child child(command);
  constexpr std::size_t kMostAnswer = std::size_t{64} << 10U;
  BackgroundAnswer answer{
      .id = read_to_end(child.out().get(), "the answer of the queue", kMostAnswer)};
  const bool is_document = answer.id.find('\n') != std::string::npos;
  if (is_document) answer.document = std::exchange(answer.id, {});
  if (answer.id.empty())
    answer.exit_code = child.wait().shell_code();
  else
    child.release();
  return answer;
}

int show_failure(Context& context, const BackgroundAnswer& answer) {
  if (!answer.document.empty()) context.ui().show(Styled{answer.document});
  return answer.exit_code;
}

void report_and_leave(Context& context, const std::string& id) {
  context.ui().set_format(Format::table);
  context.ui().data(id);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < 3; ++fd)
    ::dup2(null.get(), fd);
}

std::vector<std::string> environment_of_others() {
  auto environment = process::current_environment();
  std::erase_if(environment, [](const std::string& assignment) {
    return assignment.starts_with(std::string(kInQueue) + "=") ||
           assignment.starts_with(std::string(kInArray) + "=") ||
           assignment.starts_with(std::string(kWithoutNodes) + "=");
  });
  return environment;
}

int run_own_command(const std::vector<std::string>& words) {
  process::Command command{.argv = {std::filesystem::read_symlink("/proc/self/exe").string()}};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.environment = environment_of_others();
  command.in.mode = command.out.mode = process::StreamMode::null;
  command.on_parent_death = process::OnParentDeath::kill;
  return process::Child(command).wait().shell_code();
}

process::Child start_for_element(const std::string& job, const std::string& input,
                                 const std::string& lost) {
  process::Command command{.argv = own_words()};
  auto environment = environment_of_others();
  process::set_variable(environment, std::string(kInArray) + "=" + job);
  if (!lost.empty()) process::set_variable(environment, std::string(kWithoutNodes) + "=" + lost);
  command.environment = std::move(environment);
  const UniqueFd file = file_with(input);
  command.in.fd = file.get();
  command.out.fd = errors_descriptor();
  command.err.mode = process::StreamMode::null;
  command.grouping = process::Grouping::group;
  command.on_parent_death = process::OnParentDeath::kill;
  return process::Child(command);
}

UniqueFd array_errors(Context& context) {
  if (!context.environment()(kInArray)) return {};
  return leave_output();
}

}  // namespace fastgpu::cli
