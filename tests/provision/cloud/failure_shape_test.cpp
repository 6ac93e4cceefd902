#include <doctest/doctest.h>

#include <array>

#include "provision/cloud/failure.hpp"

namespace fastgpu::provision::cloud {
namespace {

struct Row {
  const char* code;
  std::optional<FailureKind> kind;
};

TEST_CASE("what a code means is read out of the words that it is made of") {
  const Row rows[] = {
      {"OperationDenied.ZoneSystemCategoryNotMatch", FailureKind::stock},
      {"InvalidSystemDiskCategory.ValueNotSupported", FailureKind::stock},
      {"InvalidDiskCategory.NotSupported", FailureKind::stock},
      {"InvalidAction", FailureKind::invalid},
      {"InvalidAction.NotFound", FailureKind::invalid},
      {"OperationDenied.ZoneNotAllowed", FailureKind::stock},
      {"OperationDenied.CreatingConflict", FailureKind::busy},
      {"IncorrectDefaultVpcStatus", FailureKind::busy},
      {"MaxEniIpv6IpsCountExceeded", FailureKind::quota},
      {"InvalidOperation.Ipv4CountExceeded", FailureKind::quota},
      {"InvalidPayMethod", FailureKind::money},
      {"FailedOperation.AccountIsInArrears", FailureKind::money},
      {"UnauthorizedOperation.NoRealNameAuthentication", FailureKind::account},
      {"PaymentMethodNotFound", FailureKind::money},
      {"InvalidInstance.UnPaidOrder", FailureKind::money},
      {"RealNameAuthenticationError", FailureKind::account},
      {"InvalidVSwitchId.NotExist", FailureKind::not_found},
      {"ResourceInUse", FailureKind::in_use},
      {"InsufficientVolumeCapacity", FailureKind::stock},
      {"VolumeTypeNotAvailableInZone", FailureKind::stock},
      {"VolumeLimitExceeded", FailureKind::quota},
      {"MaxIOPSLimitExceeded", FailureKind::quota},
      {"PrivateIpAddressLimitExceeded", FailureKind::quota},
      {"SubnetLimitExceeded", FailureKind::quota},
      {"SecurityGroupsPerInterfaceLimitExceeded", FailureKind::quota},
      {"ResourceCountExceeded", FailureKind::quota},
      {"RequestThrottled", FailureKind::throttled},
      {"BandwidthLimitExceeded", FailureKind::throttled},
      {"UserNotAuthorized", FailureKind::permission},
      {"AuthFailure.ServiceLinkedRoleCreationNotPermitted", FailureKind::permission},
      {"VPCIdNotSpecified", FailureKind::not_found},
      {"DefaultVpcDoesNotExist", FailureKind::not_found},
      {"InvalidPlacementGroup.Duplicate", FailureKind::name_taken},
      {"InvalidGroup.Duplicate", FailureKind::name_taken},
      {"RouteAlreadyExists", FailureKind::done_already},
      {"IncorrectSpotRequestState", FailureKind::busy},
      {"ReservationCapacityExceeded", FailureKind::stock},
      {"Blocked", FailureKind::account},
      {"UnsupportedOperation.InvalidZone", FailureKind::stock},
      {"UnsupportedOperation.SpotUnsupportedRegion", FailureKind::stock},
      {"UnsupportedOperation.SpecialInstanceType", FailureKind::stock},
      {"InvalidParameter.InstanceTypeNotSupport", FailureKind::stock},
      {"InvalidRegion.Unavailable", FailureKind::stock},
      {"UnsupportedOperation.UserLimitOperationExceedQuota", FailureKind::quota},
      {"InvalidKeyPair.LimitExceeded", FailureKind::quota},
      {"ResourceUnavailable", FailureKind::busy},
      {"ResourceUnavailable.SnapshotCreating", FailureKind::busy},
      {"FailedOperation.InquiryPriceFailed", FailureKind::busy},
      {"FailedOperation.SecurityGroupActionFailed", FailureKind::busy},
      {"SecGroupActionFailure", FailureKind::busy},
      {"UnsupportedOperation.OnlyForPrepaidAccount", FailureKind::account},
      {"VpcLimitExceeded", FailureKind::quota},
      {"UnsupportedOperation.SgNumExceedLimit", FailureKind::quota},
      {"UnsupportedOperation.PurchaseLimit", FailureKind::quota},
      {"UnsupportedOperation.MutexOperationTaskRunning", FailureKind::busy},
      {"OperationDenied.MutexTaskRunning", FailureKind::busy},
      {"UnsupportedOperation.InsufficientFunds", FailureKind::money},
      {"UnsupportedOperation.UnpaidOrderAlreadyExists", FailureKind::money},
      {"UnsupportedOperation.SubnetNotExists", FailureKind::not_found},
      {"UnsupportedOperation.InstanceNotExist", FailureKind::not_found},
      {"UnsupportedOperation.RecordNotExists", FailureKind::not_found},
      {"SecurityGroupLimitExceed", FailureKind::quota},
      {"InvalidInstanceID.Malformed", FailureKind::not_found},
      {"InvalidInstanceId.Malformed", FailureKind::not_found},
      {"Throttling.User", FailureKind::throttled},
      {"QuotaExceed.ElasticQuota", FailureKind::quota},
      {"InvalidAccountStatus.NotEnoughBalance", FailureKind::money},
      {"Account.Arrearage", FailureKind::money},
      {"InsufficientInstanceCapacity", FailureKind::stock},
      {"Zone.NotOnSale", FailureKind::stock},
      {"InstanceType.Offline", FailureKind::stock},
      {"InvalidVSwitchId.IpNotEnough", FailureKind::quota},
      {"InsufficientFreeAddressesInSubnet", FailureKind::quota},
      {"InsufficientAddressCapacity", FailureKind::stock},
      {"InvalidVpcID.NotFound", FailureKind::not_found},
      {"SignatureDoesNotMatch", FailureKind::credentials},
      {"InvalidAccessKeyId.NotFound", FailureKind::credentials},
      {"Ecs.InternalError", FailureKind::busy},
      {"InvalidParameter", std::nullopt},
      {"MissingParameter", std::nullopt},
      {"InvalidParameterValue", std::nullopt},
      {"InvalidPermission.Malformed", std::nullopt},
      {"InvalidInstanceType.NotSupported", FailureKind::stock},
      {"InvalidInstanceType.NotSupportDiskCategory", FailureKind::stock},
      {"OperationDenied.ImageNotSupportInstanceType", std::nullopt},
      {"OperationDenied.NotInWhitelist", FailureKind::account},
      {"NotSupportedInstanceFamily", FailureKind::stock},
      {"InstanceLimitExceeded", FailureKind::quota},
      {"InvalidParameter.Conflict", std::nullopt},
      {"InvalidParameterValue.TagKeyLengthExceeded", std::nullopt},
      {"UnsupportedOperation.EndPointServiceLoadBalancerInvalidType", std::nullopt},
  };
  for (const Row& row : rows) {
    CAPTURE(row.code);
    CHECK(kind_by_shape(row.code) == row.kind);
  }
}

TEST_CASE(
    "a cloud's own row comes before the shape, the shape before the status, and that before the "
    "words") {
  constexpr std::array kOwn = {CodeMeaning{"VpcLimitExceeded.Odd", FailureKind::busy}};
  CHECK(kind_of_failure("VpcLimitExceeded.Odd", "", 400, kOwn) == FailureKind::busy);
  CHECK(kind_of_failure("VpcLimitExceeded", "", 503, kOwn) == FailureKind::quota);
  CHECK(kind_of_failure("Odd", "quota", 503, kOwn) == FailureKind::busy);
  CHECK(kind_of_failure("Odd", "", 429, kOwn) == FailureKind::throttled);
  CHECK(kind_of_failure("Odd", "The type is not supported in zone a", 400, kOwn) ==
        FailureKind::stock);
  CHECK(kind_of_failure("Odd", "no", 400, kOwn) == FailureKind::invalid);
}

TEST_CASE("a sentence tells what a code does not") {
  CHECK(kind_by_words("No valid host was found.") == FailureKind::stock);
  CHECK(kind_by_words("Quota exceeded for resources: ['router'].") == FailureKind::quota);
  CHECK(kind_by_words("The flavor p2s is not supported in AZ cn-north-4a") == FailureKind::stock);
  CHECK(kind_by_words("VPC is not active, please try later.") == FailureKind::busy);
  CHECK_FALSE(kind_by_words("The parameter is wrong"));
}

}  // namespace
}  // namespace fastgpu::provision::cloud
