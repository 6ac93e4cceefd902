#include "provision/cloud/file_stores.hpp"

#include <algorithm>
#include <array>

namespace fastgpu::provision::cloud {
namespace {

struct FileStore {
  std::string_view cloud;
  std::string_view options;
};

// The vendors' pages in November 2026:
//   AWS EFS             docs.aws.amazon.com/efs/latest/ug/mounting-fs-nfs-mount-settings.html
//   Alibaba NAS
//   alibabacloud.com/help/en/nas/user-guide/mount-an-nfs-file-system-on-a-linux-ecs-instance
//                       (version 3, which is recommended where no file is locked across machines)
//   Tencent CFS         cloud.tencent.com/document/product/582/113840, and the default of CFSOption
//   in
//                       the API of THPC 2023-03-21
//   Huawei SFS Turbo    support.huaweicloud.com/usermanual-sfsturbo/sfsturbo_01_0025.html
constexpr std::array kStores = {
    FileStore{"aws", "nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport"},
    FileStore{"alibaba",
              "vers=3,nolock,proto=tcp,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,"
              "noresvport"},
    FileStore{"tencent", "vers=3,nolock,proto=tcp,noresvport"},
    FileStore{"huawei", "vers=3,timeo=600,noresvport,nolock,tcp"},
};

}  // namespace

std::string_view nfs_options(std::string_view cloud) {
  const auto* const store = std::ranges::find(kStores, cloud, &FileStore::cloud);
  return store == kStores.end() ? "hard,timeo=600,retrans=2,noresvport" : store->options;
}

}  // namespace fastgpu::provision::cloud
