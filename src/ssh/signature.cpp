#include "ssh/signature.hpp"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <optional>
#include <string>

#include "base/c_handle.hpp"
#include "ssh/wire.hpp"

namespace fastgpu::ssh {
namespace {

using Key = CHandle<EVP_PKEY, EVP_PKEY_free>;
using Number = CHandle<BIGNUM, BN_free>;

constexpr int kLeastRsaBits = 2048;
constexpr int kMostRsaBits = 16384;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number(std::string_view text) {
  return Number(BN_bin2bn(bytes(text), static_cast<int>(text.size()), nullptr));
}

/// A public key made of its parts; null where they make none.
Key key_of(const char* algorithm, OSSL_PARAM_BLD* parts) {
  const CHandle<OSSL_PARAM, OSSL_PARAM_free> params(OSSL_PARAM_BLD_to_param(parts));
  const CHandle<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(
      EVP_PKEY_CTX_new_from_name(nullptr, algorithm, nullptr));
  EVP_PKEY* made = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return Key(made);
}

Key ed25519_key(WireReader& fields) {
  const auto raw = fields.string();
  if (!raw || raw->size() != 32) return nullptr;
  return Key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes(*raw), raw->size()));
}

Key rsa_key(WireReader& fields) {
  const auto exponent = fields.string();
  const auto modulus = fields.string();
  const CHandle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> parts(OSSL_PARAM_BLD_new());
  if (!exponent || !modulus || modulus->size() > kMostRsaBits / 8 + 1 || !parts) return nullptr;
  const Number e = number(*exponent);
  const Number n = number(*modulus);
  if (!e || !n || BN_num_bits(n.get()) < kLeastRsaBits ||
      OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return key_of("RSA", parts.get());
}

/// What OpenSSL calls the curve, and the hash that goes with it.
struct Curve {
  const char* name;
  const char* openssl_name;
  const EVP_MD* (*hash)();
};

constexpr Curve kCurves[] = {{"nistp256", "P-256", EVP_sha256},
                             {"nistp384", "P-384", EVP_sha384},
                             {"nistp521", "P-521", EVP_sha512}};

const Curve* curve_of(std::string_view type) {
  for (const Curve& curve : kCurves)
    if (type == std::string("ecdsa-sha2-") + curve.name) return &curve;
  return nullptr;
}

Key ecdsa_key(WireReader& fields, const Curve& curve) {
  const auto name = fields.string();
  const auto point = fields.string();
  const CHandle<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> parts(OSSL_PARAM_BLD_new());
  if (name != std::string_view(curve.name) || !point || !parts ||
      OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.openssl_name,
                                      0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point->data(),
                                       point->size()) != 1)
    return nullptr;
  return key_of("EC", parts.get());
}

/// The two numbers of an ECDSA signature as libcrypto wants them.
std::optional<std::string> as_der(std::string_view signature) {
  WireReader fields(signature);
  const auto r = fields.string();
  const auto s = fields.string();
  const CHandle<ECDSA_SIG, ECDSA_SIG_free> pair(ECDSA_SIG_new());
  constexpr std::size_t kMost = 67;
  if (!r || !s || fields.left() != 0 || r->size() > kMost || s->size() > kMost || !pair)
    return std::nullopt;
  if (ECDSA_SIG_set0(pair.get(), number(*r).release(), number(*s).release()) != 1)
    return std::nullopt;
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &der);
  if (size <= 0) return std::nullopt;
  std::string out(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

bool verifies(const Key& key, const EVP_MD* hash, std::string_view signature,
              std::string_view data) {
  const CHandle<EVP_MD_CTX, EVP_MD_CTX_free> context(EVP_MD_CTX_new());
  return key && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(data),
                          data.size()) == 1;
}

}  // namespace

bool is_signature_of(std::string_view key, std::string_view type, std::string_view signature,
                     std::string_view data) {
  const auto space = key.find(' ');
  const auto blob = space == key.npos ? std::nullopt : base64_decode(key.substr(space + 1));
  if (!blob) return false;
  WireReader fields(*blob);
  const auto algorithm = fields.string();
  if (!algorithm) return false;
  if (*algorithm == "ssh-ed25519")
    return type == *algorithm && verifies(ed25519_key(fields), nullptr, signature, data);
  if (*algorithm == "ssh-rsa") {
    if (type != "rsa-sha2-256" && type != "rsa-sha2-512") return false;
    return verifies(rsa_key(fields), type == "rsa-sha2-256" ? EVP_sha256() : EVP_sha512(),
                    signature, data);
  }
  const Curve* const curve = curve_of(*algorithm);
  if (curve == nullptr || type != *algorithm) return false;
  const auto der = as_der(signature);
  return der && verifies(ecdsa_key(fields, *curve), curve->hash(), *der, data);
}

}  // namespace fastgpu::ssh
