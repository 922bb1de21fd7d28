//===- PrefixScopes.cpp - isolation of shared prompt prefixes -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/PrefixScopes.h"

#include <cstring>
#include <openssl/sha.h>
#include <random>
#include <string>

using namespace sluice::serve;

PrefixScopes::PrefixScopes(bool sharesAmongKeys)
    : sharesAmongKeys(sharesAmongKeys) {
  std::random_device source;
  for (unsigned char &byte : secret)
    byte = static_cast<unsigned char>(source());
}

uint64_t PrefixScopes::of(const Caller &caller, std::string_view salt) const {
  const bool hasOwn = caller.hasKey && !sharesAmongKeys;
  if (!hasOwn && salt.empty())
    return 0;
  const TenantId tenant = hasOwn ? caller.tenant : 0; // 0: no tenant's id
  std::string text(secret.begin(), secret.end());
  text.append(reinterpret_cast<const char *>(&tenant), sizeof tenant);
  text += salt;
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char *>(text.data()), text.size(),
         digest);
  uint64_t scope = 0;
  std::memcpy(&scope, digest, sizeof scope);
  return scope;
}
