//===- FileIdentityTest.cpp - identities change with the content ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/FileIdentity.h"

#include <gtest/gtest.h>
#include <vector>

using namespace sluice;

TEST(FileIdentity, Fnv1aMatchesPublishedVectors) {
  EXPECT_EQ(fnv1a({}), 0xcbf29ce484222325u);
  const uint8_t a[] = {'a'};
  EXPECT_EQ(fnv1a(a), 0xaf63dc4c8601ec8cu);
}

TEST(FileIdentity, SmallFilesAreHashedWhole) {
  std::vector<uint8_t> bytes(100000, 7);
  std::string before = fileIdentity(bytes);
  EXPECT_EQ(before.size(), 16u);
  for (size_t place : {size_t(0), size_t(4321), bytes.size() - 1}) {
    bytes[place] ^= 1;
    EXPECT_NE(fileIdentity(bytes), before) << place;
    bytes[place] ^= 1;
  }
  EXPECT_EQ(fileIdentity(bytes), before);
}

TEST(FileIdentity, LargeFilesAreSampledWithHeaderEndAndSize) {
  std::vector<uint8_t> bytes(size_t(5) << 20, 7);
  std::string before = fileIdentity(bytes);
  for (size_t place : {size_t(0), size_t(1000000), bytes.size() - 1}) {
    bytes[place] ^= 1;
    EXPECT_NE(fileIdentity(bytes), before) << place;
    bytes[place] ^= 1;
  }
  bytes.push_back(7);
  EXPECT_NE(fileIdentity(bytes), before);
}
