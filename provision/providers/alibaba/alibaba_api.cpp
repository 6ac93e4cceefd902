#include "provision/providers/alibaba/alibaba_api.hpp"

namespace fastgpu::provision::alibaba {
namespace {

constexpr const char* kForm = "application/x-www-form-urlencoded";
constexpr int kMostPages = 10'000;

/// Returns false for actions that concern all regions at once.
bool names_region(const std::string& action) {
  return action != "GetCallerIdentity" && action != "DescribeRegions" &&
         action != "DescribeInstanceTypes";
}

/// Returns the parameter for the next page; an empty name after the last page.
std::pair<std::string, std::string> next_page(const Answer& answer, int page) {
  const std::string token = answer["NextToken"].text();
  if (!token.empty()) return {"NextToken", token};
  const double seen = static_cast<double>(page) * answer["PageSize"].whole();
  if (seen > 0 && seen < answer["TotalCount"].whole())
    return {"PageNumber", std::to_string(page + 1)};
  return {};
}

}  // namespace

cloud::CloudCall AlibabaApi::form(const AlibabaCall& call) const {
  const auto target =
      endpoint_.of(call.service, call.region, call.service + "." + call.region + ".aliyuncs.com");
  Parameters parameters = call.parameters;
  if (names_region(call.action)) parameters.emplace_back("RegionId", call.region);
  return {.service = call.service,
          .action = call.action,
          .region = call.region,
          .request = {.method = "POST",
                      .url = target.url + "/",
                      .headers = {{"Host", target.host},
                                  {"Accept", "application/json"},
                                  {"Content-Type", kForm}},
                      .body = http::encode_query(parameters)},
          .shown = cloud::shown(call.parameters),
          .outwaits_use = call.outwaits_use,
          .is_start = call.is_start};
}

cloud::JsonAnswer AlibabaApi::call(const AlibabaCall& call, const Cancel& cancel) {
  return cloud::parse_answer(caller_.call(form(call), "alibaba: " + call.doing, cancel),
                             "alibaba to " + call.action);
}

std::optional<cloud::Failure> AlibabaApi::try_call(const AlibabaCall& call, const Cancel& cancel) {
  auto reply = caller_.try_call(form(call), cancel);
  if (auto* failure = std::get_if<cloud::Failure>(&reply)) return std::move(*failure);
  return std::nullopt;
}

void AlibabaApi::pages(AlibabaCall call, const std::function<void(const Answer&)>& take,
                       const Cancel& cancel) {
  const std::size_t own = call.parameters.size();
  for (int page = 1; page <= kMostPages; ++page) {
    const cloud::JsonAnswer document = this->call(call, cancel);
    take(Answer(document));
    auto next = next_page(Answer(document), page);
    if (next.first.empty()) return;
    call.parameters.resize(own);
    call.parameters.push_back(std::move(next));
  }
  throw Error(ErrorKind::remote, "alibaba: " + call.doing + ": the list does not end");
}

}  // namespace fastgpu::provision::alibaba
