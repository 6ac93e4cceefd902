// A link's speed, limited by the kernel's token bucket.
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "provision/providers/local/links.hpp"

namespace fastgpu::provision::local {
namespace {

constexpr std::uint64_t kLeastBurst = 16UL * 1024;
constexpr std::uint64_t kMostBurst = 16UL * 1024 * 1024;
constexpr std::uint64_t kLeastQueue = 64UL * 1024;  // One full segment of the largest size.

std::uint32_t narrowed(std::uint64_t value) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

void limit_rate(NetlinkSocket& socket, int link, BitRate rate) {
  const std::uint64_t bytes_per_second = std::max<std::uint64_t>(rate.bits_per_second / 8, 1);
  // A burst of 5 ms of traffic may pass at once, and 50 ms of it may wait.
  const std::uint64_t burst = std::clamp(bytes_per_second / 200, kLeastBurst, kMostBurst);
  tc_tbf_qopt options{};
  options.rate.linklayer = TC_LINKLAYER_ETHERNET;
  options.rate.rate = narrowed(bytes_per_second);
  options.limit = narrowed(burst + std::max(bytes_per_second / 20, kLeastQueue));
  tcmsg header{};
  header.tcm_ifindex = link;
  header.tcm_parent = TC_H_ROOT;
  header.tcm_handle = TC_H_MAKE(1U << 16U, 0);
  NetlinkMessage message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, header);
  message.put_text(TCA_KIND, "tbf").nest(TCA_OPTIONS, [&](NetlinkMessage& tbf) {
    tbf.put(TCA_TBF_PARMS, options).put(TCA_TBF_BURST, narrowed(burst));
    if (bytes_per_second > std::numeric_limits<std::uint32_t>::max())
      tbf.put(TCA_TBF_RATE64, bytes_per_second);
  });
  if (const int error = socket.request(message); error != 0)
    throw system_error("limiting a link to " + to_string(rate), error);
}

}  // namespace fastgpu::provision::local
