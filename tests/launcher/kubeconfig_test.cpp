#include "launcher/kubernetes/kubeconfig.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/failure.hpp"
#include "support/temp_directory.hpp"

namespace fastgpu::launcher {
namespace {

using test::failure_of;

constexpr const char* kConfiguration = R"(apiVersion: v1
kind: Config
preferences: {}
current-context: lab
contexts:
- name: lab
  context: {cluster: one, user: ann, namespace: train}
- name: other
  context: {cluster: two, user: bob}
- name: plugin
  context: {cluster: one, user: exec}
clusters:
- name: one
  cluster: {server: "https://10.0.0.1:6443/", certificate-authority-data: Y2E=}
- name: two
  cluster: {server: "https://k8s.example", certificate-authority: ca.pem}
users:
- name: ann
  user: {token: abc}
- name: bob
  user: {client-certificate-data: Y2VydA==, client-key: key.pem}
- name: exec
  user: {exec: {apiVersion: v1, command: aws-iam-authenticator}}
)";

KubernetesAccess read_lab(const std::string& text, const std::string& context = {},
                          const std::filesystem::path& directory = "/nowhere") {
  return read_kubeconfig(config::Document::parse(text, "config"), directory, context);
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kConfiguration;
  return text.replace(text.find(from), from.size(), to);
}

TEST_SUITE_BEGIN("launcher/kubernetes/kubeconfig");

TEST_CASE("the current context is read, with a token") {
  const KubernetesAccess access = read_lab(kConfiguration);
  CHECK(access.context == "lab");
  CHECK(access.server == "https://10.0.0.1:6443");
  CHECK(access.name_space == "train");
  CHECK(access.ca_text == "ca");
  CHECK(access.token.reveal() == "abc");
  CHECK_FALSE(access.certificate);
}

TEST_CASE("another context is read, with files beside the kubeconfig") {
  const test::TempDirectory directory;
  std::ofstream(directory.path() / "ca.pem") << "authority";
  std::ofstream(directory.path() / "key.pem") << "key";
  const KubernetesAccess access = read_lab(kConfiguration, "other", directory.path());
  CHECK(access.name_space == "default");
  CHECK(access.ca_text == "authority");
  REQUIRE(access.certificate);
  CHECK(access.certificate->certificate == "cert");
  CHECK(access.certificate->key.reveal() == "key");
}

TEST_CASE("what fastgpu does not do is refused by its name") {
  struct Row {
    std::string text;
    std::string context;
    std::string said;
  };
  const std::vector<Row> table = {
      {kConfiguration, "plugin", "the plugin 'aws-iam-authenticator', which fastgpu does not run"},
      {kConfiguration, "none", "the kubeconfig has no context 'none' (lab, other, plugin)"},
      {kConfiguration, "othr", "no context 'othr', did you mean 'other'? (lab, other, plugin)"},
      {kConfiguration, "other", "does not exist"},
      {replaced("current-context: lab", "current-context: ''"), "", "set kubernetes.context"},
      {replaced("certificate-authority-data: Y2E=", "insecure-skip-tls-verify: true"), "",
       "always verifies"},
      {replaced("certificate-authority-data: Y2E=", "certificate-authority-data: '*'"), "",
       "not Base64"},
      {replaced("certificate-authority-data: Y2E=", "proxy-url: http://proxy"), "", "HTTPS_PROXY"},
      {replaced("certificate-authority-data: Y2E=", "tls-server-name: other"), "", "verifies"},
      {replaced("https://10.0.0.1:6443/", "http://10.0.0.1"), "", "must begin with https://"},
      {replaced("{token: abc}", "{auth-provider: {name: gcp}}"), "", "no such login"},
      {replaced("{token: abc}", "{username: ann, password: hunter2}"), "", "no login by password"},
      {replaced("{token: abc}", "{client-certificate-data: Y2E=}"), "", "one of them is missing"},
      {replaced("cluster: one, user: ann", "cluster: three, user: ann"), "",
       "the kubeconfig has no cluster 'three' (one, two)"},
  };
  for (const Row& row : table) {
    const Error e = failure_of([&] { read_lab(row.text, row.context); });
    CHECK(e.kind() == ErrorKind::usage);
    CHECK_MESSAGE(test::mentions(e, row.said), e.what());
    CHECK_FALSE(test::mentions(e, "hunter2"));
  }
}

TEST_CASE("the path is KUBECONFIG, or the usual one") {
  const auto with = [](const char* value) {
    return [value](const char* name) -> std::optional<std::string> {
      if (std::string(name) == "HOME") return "/home/ann";
      if (*value == '\0') return std::nullopt;
      return value;
    };
  };
  CHECK(kubeconfig_path(with("")) == "/home/ann/.kube/config");
  CHECK(kubeconfig_path(with("/etc/k")) == "/etc/k");
  CHECK(failure_of([&] { kubeconfig_path(with("/a:/b")); }).kind() == ErrorKind::usage);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::launcher
