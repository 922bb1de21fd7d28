//===- MemoryTest.cpp - tests of a server without memory ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestClient.h"
#include "runtime/http/test/TestServer.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <new>

using namespace sluice::http;
using namespace sluice::http::test;

namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

/// Whether the thread's allocations always succeed: those of the tests do.
thread_local bool isSpared = false;
/// How many more allocations by `new` of the other threads succeed before some
/// fail.
std::atomic<int64_t> left{never};
/// How many have failed and how many fail at most.
std::atomic<int64_t> failed{0}, mostFailed{0};

/// As long as this lives, `count` allocations of other threads fail after
/// `first` others.
class Lack {
public:
  Lack(int64_t first, int64_t count) {
    isSpared = true;
    failed = 0;
    mostFailed = count;
    left = first;
  }
  ~Lack() { left = never; }
};

} // namespace

// Replaces operator new in the whole test program.
void *operator new(size_t bytes) {
  if (!isSpared && left.fetch_sub(1) <= 0 && failed.fetch_add(1) < mostFailed)
    throw std::bad_alloc();
  if (void *memory = std::malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

/// Whichever allocations fail while connections are accepted and answered,
/// later connections are accepted.
TEST(MemoryTest, LaterConnectionsAreAccepted) {
  for (int64_t count : {1, 20})
    for (int64_t first = 0;; ++first) {
      ASSERT_LT(first, 1000);
      TestServer server;
      {
        Lack some(first, count);
        TestClient lacking(server.port());
        lacking.send(get("/echo"));
        (void)lacking.read();
      }
      TestClient later(server.port());
      later.send(get("/echo"));
      ASSERT_EQ(later.read().status, 200) << count << " fail after " << first;
      if (failed == 0)
        break;
    }
}
