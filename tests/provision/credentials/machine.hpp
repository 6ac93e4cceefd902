// A machine whose variables, files and network are the test's.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "provision/credentials/credentials.hpp"
#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::provision::credentials {

/// Answers what it has an answer for, "METHOD URL" by "METHOD URL"; nobody else is there.
class FewServices final : public http::Client {
 public:
  std::map<std::string, http::Response> answers;
  std::vector<http::Request> sent;

  http::Response send(const http::Request& request, const Cancel& cancel) override {
    cancel.check();
    sent.push_back(request);
    const auto found = answers.find(request.method + " " + request.url);
    if (found == answers.end()) throw Error(ErrorKind::transient, "no connection");
    return found->second;
  }
};

struct Machine {
  test::TempDirectory home;
  std::map<std::string, std::string> variables;
  FewServices services;
  Cancel cancel;

  Sources sources() {
    return {.environment = [this](const char* name) -> std::optional<std::string> {
              const auto found = variables.find(name);
              if (found == variables.end()) return std::nullopt;
              return found->second;
            },
            .home = home.path(),
            .http = services,
            .cancel = cancel,
            .now = std::chrono::system_clock::from_time_t(1440938160)};
  }

  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((home.path() / file).parent_path());
    std::ofstream(home.path() / file) << text;
  }
  std::string path(const std::string& file) const { return (home.path() / file).string(); }

  void answer(const std::string& question, const std::string& body, int status = 200) {
    services.answers[question] = {.status = status, .headers = {}, .body = body};
  }
};

/// "access:secret:token"
inline std::string keys_of(const Credentials& found) {
  return found.keys.access_key + ":" + found.keys.secret_key.reveal() + ":" +
         found.keys.session_token.reveal();
}

}  // namespace fastgpu::provision::credentials
