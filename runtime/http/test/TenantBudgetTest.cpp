//===- TenantBudgetTest.cpp - tests of the tenants' shared budget ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/TenantBudget.h"
#include "runtime/http/PeerNetwork.h"

#include <gtest/gtest.h>
#include <vector>

using namespace sluice::http;
using namespace sluice::http::server;

TEST(TenantBudget, OneTenantHoldsHalfOfIt) {
  TenantBudget budget(100);
  auto account = budget.accountOf(1);
  EXPECT_TRUE(account->add(50));
  EXPECT_FALSE(account->isOver());
  EXPECT_FALSE(account->add(1));
  EXPECT_TRUE(account->isOver());
  EXPECT_FALSE(account->isTotalOver());
  EXPECT_TRUE(account->add(-1));
}

TEST(TenantBudget, OneIsAlwaysAllowedToATenant) {
  TenantBudget budget(3);
  auto first = budget.accountOf(1), second = budget.accountOf(2);
  EXPECT_TRUE(first->hasRoom(1));
  first->add(1);
  EXPECT_FALSE(first->hasRoom(1)); // it would hold two, and one would be free
  EXPECT_TRUE(second->hasRoom(1));
  second->add(1);
  auto third = budget.accountOf(3);
  EXPECT_TRUE(third->hasRoom(1));
  third->add(1);
  EXPECT_TRUE(budget.accountOf(4)->hasRoom(1));
  EXPECT_FALSE(third->hasRoom(1));
}

/// However greedy the others are, a new tenant finds half as many bytes free as
/// each of them holds, before any of them gives bytes back.
TEST(TenantBudget, EachNewTenantFindsAShare) {
  constexpr int64_t bytes = 1'000'000;
  constexpr int tenants = 9;
  TenantBudget budget(bytes);
  std::vector<std::shared_ptr<BudgetAccount>> accounts;
  for (uint64_t tenant = 0; tenant < tenants; ++tenant)
    accounts.push_back(budget.accountOf(tenant));
  std::vector<int64_t> held(tenants);
  for (int round = 0; round < 100; ++round)
    for (uint64_t tenant = 0; tenant < tenants; ++tenant) {
      auto &account = accounts[tenant];
      for (; account->isOver(); --held[tenant])
        account->add(-1);
      for (; account->add(1); ++held[tenant]) {
      }
      account->add(-1);
    }
  for (int64_t each : held)
    EXPECT_NEAR(each, bytes / (tenants + 1), 10);
  EXPECT_TRUE(budget.accountOf(tenants)->add(bytes / (tenants + 1) / 2 - 100));
}

TEST(TenantBudget, AnAccountIsKeptWhileSomebodyHoldsIt) {
  TenantBudget budget(100);
  auto account = budget.accountOf(7);
  account->add(40);
  for (uint64_t other = 100; other < 1000; ++other)
    budget.accountOf(other); // unused accounts are removed from time to time
  EXPECT_EQ(budget.accountOf(7), account);
  EXPECT_FALSE(budget.accountOf(7)->add(20));
}

TEST(PeerNetwork, AddressesOfOneCustomerAreOne) {
  EXPECT_EQ(networkOf("192.0.2.1"), networkOf("192.0.2.1"));
  EXPECT_NE(networkOf("192.0.2.1"), networkOf("192.0.2.2"));
  EXPECT_EQ(networkOf("192.0.2.1"), networkOf("::ffff:192.0.2.1"));
  EXPECT_EQ(networkOf("2001:db8::1"), networkOf("2001:db8:0:0:ffff::2"));
  EXPECT_NE(networkOf("2001:db8::1"), networkOf("2001:db8:0:1::1"));
  EXPECT_EQ(networkOf("") >> 63, 1u);
}
