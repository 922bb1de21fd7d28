//===- PrefixScopesTest.cpp - isolation of shared prompt prefixes ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/PrefixScopes.h"

#include <gtest/gtest.h>
#include <set>

using namespace sluice::serve;

namespace {

constexpr Caller one = {.tenant = 1, .hasKey = true};
constexpr Caller two = {.tenant = 2, .hasKey = true};
constexpr Caller someone = {.tenant = 77}, other = {.tenant = 78};

TEST(PrefixScopesTest, KeysAndSaltsKeepApart) {
  PrefixScopes scopes(/*sharesAmongKeys=*/false);
  std::set<uint64_t> all = {scopes.of(someone, ""), scopes.of(someone, "s")};
  for (const Caller &caller : {one, two})
    for (const char *salt : {"", "s", "t"}) {
      uint64_t scope = scopes.of(caller, salt);
      EXPECT_EQ(scope, scopes.of(caller, salt));
      EXPECT_TRUE(all.insert(scope).second) << caller.tenant << salt;
    }
  // Addresses do not separate callers.
  EXPECT_EQ(scopes.of(someone, ""), scopes.of(other, ""));
  EXPECT_EQ(scopes.of(someone, "s"), scopes.of(other, "s"));
}

TEST(PrefixScopesTest, OneTenantHasAllKeys) {
  PrefixScopes scopes(/*sharesAmongKeys=*/true);
  EXPECT_EQ(scopes.of(one, ""), scopes.of(two, ""));
  EXPECT_EQ(scopes.of(one, "s"), scopes.of(two, "s"));
  EXPECT_NE(scopes.of(one, "s"), scopes.of(one, ""));
}

TEST(PrefixScopesTest, NobodyCanWorkThemOut) {
  EXPECT_NE(PrefixScopes(false).of(one, "s"), PrefixScopes(false).of(one, "s"));
}

} // namespace
