#include "provision/credentials/aws_process.hpp"

#include "process/capture.hpp"

namespace fastgpu::provision::credentials {
namespace {

/// A reader of words that knows quotes and backslashes.
class Splitter {
 public:
  void take(char c) {
    if (!escaped_ && c == '\\' && quote_ != '\'') {
      escaped_ = true;
      return;
    }
    if (!escaped_ && is_quote(c)) {
      quote_ = quote_ == 0 ? c : '\0';
      in_word_ = true;
      return;
    }
    if (!escaped_ && quote_ == 0 && (c == ' ' || c == '\t')) return end_word();
    word_ += c;
    in_word_ = true;
    escaped_ = false;
  }

  void end_word() {
    if (in_word_) words_.push_back(word_);
    word_.clear();
    in_word_ = false;
  }

  bool is_open() const noexcept { return quote_ != 0 || escaped_; }
  const std::vector<std::string>& words() const noexcept { return words_; }

 private:
  /// Returns true for a quote that begins, or the end of the open one.
  bool is_quote(char c) const noexcept { return quote_ == 0 ? c == '"' || c == '\'' : c == quote_; }

  std::vector<std::string> words_;
  std::string word_;
  char quote_ = 0;
  bool escaped_ = false;
  bool in_word_ = false;
};

}  // namespace

std::vector<std::string> split_words(const std::string& command, const std::string& source) {
  Splitter splitter;
  for (const char c : command)
    splitter.take(c);
  if (splitter.is_open())
    throw Error(ErrorKind::usage, source + ": a quote in credential_process does not end");
  splitter.end_word();
  if (splitter.words().empty())
    throw Error(ErrorKind::usage, source + ": credential_process is empty");
  return splitter.words();
}

Credentials run_credential_process(const Search& search, const std::string& command,
                                   const std::string& source) {
  const std::vector<std::string> argv = split_words(command, source);
  const std::string what = source + ": " + argv.front();
  const process::Captured ended = [&] {
    try {
      return process::capture({.argv = argv}, {}, search.sources().cancel);
    } catch (const Error& e) {
      throw e.during(source + ": running credential_process");
    }
  }();
  if (!ended.status.ok())
    throw Error(ErrorKind::denied, what + " " + process::describe(ended.status));
  const auto object =
      parse_object(ended.out, "what " + argv.front() + " prints", ErrorKind::denied);
  const auto version = object.find("Version");
  if (version == object.end() || *version != 1)
    throw Error(ErrorKind::denied, what + " prints no keys of version 1");
  return keys_in(object, {"AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}, source);
}

}  // namespace fastgpu::provision::credentials
