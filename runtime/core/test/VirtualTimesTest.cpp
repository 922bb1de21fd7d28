//===- VirtualTimesTest.cpp - what tenants have had of something shared ---===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/VirtualTimes.h"

#include <gtest/gtest.h>

using namespace sluice;

namespace {

using State = VirtualTimes::State;

TEST(VirtualTimesTest, WhoHadLessAndWaitsComesFirst) {
  VirtualTimes times;
  times.setState(1, State::Waiting);
  times.setState(2, State::Waiting);
  times.advance(1, Time(10));
  EXPECT_LT(times.of(2), times.of(1));
  times.advance(2, Time(11));
  EXPECT_LT(times.of(1), times.of(2));
}

TEST(VirtualTimesTest, WhoIsServedHasNoCredit) {
  VirtualTimes times;
  times.setState(1, State::Served);
  times.setState(2, State::Waiting);
  times.setState(3, State::Waiting);
  times.advance(2, Time(50));
  times.advance(3, Time(60));
  // It advances to where the others are.
  times.advance(1, Time(1));
  EXPECT_EQ(times.of(1), times.of(2));
  // So does a newcomer.
  times.advance(2, Time(20));
  times.setState(4, State::Waiting);
  EXPECT_EQ(times.of(4), times.of(3));
}

TEST(VirtualTimesTest, WithNobodyWaitingANewcomerIsWithTheGreatest) {
  VirtualTimes times;
  times.setState(1, State::Served);
  times.setState(2, State::Served);
  times.advance(1, Time(50));
  times.setState(3, State::Waiting);
  EXPECT_EQ(times.of(3), times.of(1));
}

TEST(VirtualTimesTest, GoingAwayMakesNothingForgottenThatOthersWaitedFor) {
  VirtualTimes times;
  times.setState(1, State::Waiting);
  times.setState(2, State::Waiting);
  times.advance(1, Time(50));
  times.setState(1, State::Away);
  times.setState(1, State::Waiting);
  EXPECT_EQ(times.of(1) - times.of(2), Time(50));
  times.setState(1, State::Away);
  EXPECT_EQ(times.known(), 2);
  // Another one's virtual time is not raised by it.
  times.setState(3, State::Waiting);
  EXPECT_EQ(times.of(3), times.of(2));
  // It is forgotten once it has been reached.
  times.advance(2, Time(60));
  times.advance(3, Time(70));
  times.setState(4, State::Waiting);
  EXPECT_EQ(times.known(), 3);
  EXPECT_EQ(times.present(), 3);
}

TEST(VirtualTimesTest, WhatNobodyWaitedForIsForgotten) {
  VirtualTimes times;
  times.setState(1, State::Served);
  times.setState(2, State::Served);
  times.advance(1, Time(50));
  times.setState(1, State::Away);
  EXPECT_EQ(times.known(), 1);
  times.setState(3, State::Waiting);
  times.setState(1, State::Waiting);
  EXPECT_EQ(times.of(1), times.of(3));
}

TEST(VirtualTimesTest, OnceAllAreAwayNothingIsKept) {
  VirtualTimes times;
  for (TenantNumber tenant = 0; tenant < 10; ++tenant) {
    times.setState(tenant, State::Waiting);
    times.advance(tenant, Time(100 * int64_t(tenant)));
  }
  for (TenantNumber tenant = 10; tenant-- > 0;)
    times.setState(tenant, State::Away);
  EXPECT_EQ(times.known(), 0);
  times.setState(3, State::Waiting);
  EXPECT_EQ(times.of(3), Time(0));
}

/// As many addresses as there may be.
TEST(VirtualTimesTest, NotEverybodyWhoIsAwayIsKept) {
  VirtualTimes times;
  times.setState(0, State::Waiting);
  for (TenantNumber tenant = 1; tenant < 10000; ++tenant) {
    times.setState(tenant, State::Waiting);
    times.advance(tenant, Time(1000));
    times.setState(tenant, State::Away);
    ASSERT_LE(times.known(), 5000);
  }
  EXPECT_EQ(times.present(), 1);
}

} // namespace
