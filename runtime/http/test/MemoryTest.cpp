//===- MemoryTest.cpp - tests of a server without memory ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/test/Allocations.h"
#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <gtest/gtest.h>

using namespace sluice::http;
using namespace sluice::http::test;
using sluice::test::LackOfMemory;

/// Whichever allocations fail while connections are accepted and answered,
/// later connections are accepted.
TEST(MemoryTest, LaterConnectionsAreAccepted) {
  for (int64_t count : {1, 20})
    for (int64_t first = 0;; ++first) {
      ASSERT_LT(first, 1000);
      TestServer server;
      {
        LackOfMemory some({.threads = LackOfMemory::Threads::Others,
                           .first = first,
                           .count = count});
        TestClient lacking(server.port());
        lacking.send(get("/echo"));
        (void)lacking.read();
      }
      TestClient later(server.port());
      later.send(get("/echo"));
      ASSERT_EQ(later.read().status, 200) << count << " fail after " << first;
      if (LackOfMemory::failed() == 0)
        break;
    }
}
