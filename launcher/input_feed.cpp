#include "launcher/input_feed.hpp"

#include <cstdlib>

#include "agent/protocol/exit_codes.hpp"
#include "base/ascii.hpp"

namespace fastgpu::launcher {

InputFeed::InputFeed(const FollowingOptions& options, const NodeCommands& commands,
                     std::size_t nodes)
    : options_(options), commands_(commands), lines_(nodes) {}

std::vector<std::size_t> InputFeed::waiting() const {
  std::vector<std::size_t> places;
  if (options_.input == nullptr) return places;
  for (std::size_t place = 0; place < lines_.size(); ++place)
    if (!lines_[place].is_done && (options_.input_to == Input::all || place == 0))
      places.push_back(place);
  return places;
}

/// Takes lines with the number of bytes that all of the node's ranks have received.
void InputFeed::take_answer(std::size_t place, std::string_view bytes) {
  constexpr std::size_t kLongestNumber = 20;
  std::string& answer = lines_[place].answer;
  for (const char c : bytes) {
    const bool is_digit = is_ascii_digit(c);
    if (c == '\n' && !answer.empty()) {
      options_.input->finish(place, std::strtoull(answer.c_str(), nullptr, 10));
      answer.clear();
    } else if (is_digit && answer.size() < kLongestNumber) {
      answer += c;
    } else {
      throw Error(ErrorKind::remote, "sent an invalid answer: not a number of bytes");
    }
  }
}

ssh::Task InputFeed::task(std::size_t place, const ssh::Host& host) {
  remote::SharedInput& input = *options_.input;
  input.rewind(place);
  Line& line = lines_[place];
  line.answer.clear();
  line.complaint.clear();
  ssh::Task task{.host = host, .command = commands_.input()};
  task.next_input = remote::framed_input(input, place, remote::Finished::later);
  task.hold_input_open = true;
  task.on_stdout = [this, place](std::string_view bytes) { take_answer(place, bytes); };
  task.on_stderr = [&line](std::string_view bytes) { keep_tail(line.complaint, bytes); };
  return task;
}

bool InputFeed::is_all_brought(std::size_t place, const HostResult<ssh::Exit>& result) {
  Line& line = lines_[place];
  line.is_done = result.ok() && result.value().code() == 0;
  if (line.is_done) options_.input->leave(place);
  return line.is_done;
}

std::optional<Error> InputFeed::refusal_in(std::size_t place,
                                           const HostResult<ssh::Exit>& result) const {
  const bool killed = result.ok() && result.value().code() > 128;
  if (killed || (!result.ok() && may_pass(result.error().kind()))) return std::nullopt;
  constexpr std::string_view kDoing = "passing standard input";
  if (!result.ok()) return result.error().during(kDoing);
  const std::string& complaint = lines_[place].complaint;
  return Error(agent::kind_of_exit(result.value().code()),
               complaint.substr(0, complaint.find('\n')))
      .during(kDoing);
}

}  // namespace fastgpu::launcher
