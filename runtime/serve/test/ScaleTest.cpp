//===- ScaleTest.cpp - many streams at once -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/base/OpenFiles.h"
#include "runtime/serve/test/ServeFixture.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace sluice;
using namespace sluice::serve::test;

namespace {

int64_t residentBytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

class ScaleTest : public ServeTest {};

} // namespace

/// Opens a thousand streams with a chat's prompt of 2,000 tokens. The measured
/// memory includes that of the clients, which are in this process, and of the
/// fake engine's prompts.
TEST_F(ScaleTest, AThousandOpenStreams) {
  constexpr int64_t streams = 1000;
  constexpr int rounds = 50;
  int64_t files = raiseOpenFileLimit();
  if (files < 2 * streams + 100)
    GTEST_SKIP() << "a process may open " << files << " files here";
  start();
  int64_t before = residentBytes();
  json body = {
      {"messages", {{{"role", "user"}, {"content", std::string(2000, 'x')}}}},
      {"stream", true},
      {"stop", {"END"}},
      {"stream_options", {{"include_usage", true}}}};
  std::vector<std::unique_ptr<TestClient>> clients;
  for (size_t i = 0; i < streams; ++i)
    clients.push_back(send("/v1/chat/completions", body));
  ASSERT_TRUE(engine.wait(streams - 1));
  for (size_t i = 0; i < streams; ++i)
    engine.tell(i, "first");
  for (auto &client : clients)
    ASSERT_TRUE(client->readUntil("\n\n").ends_with("\n\n"));
  int64_t used = residentBytes() - before;
  std::printf("1,000 open streams: %.1f MB\n", double(used) / 1e6);
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  EXPECT_LT(used, 100'000'000);
#endif

  auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < streams; ++i)
      engine.tell(i, "y");
  for (size_t i = 0; i < streams; ++i)
    engine.end(i, FinishReason::Stop);
  for (auto &client : clients)
    ASSERT_TRUE(client->readUntil("[DONE]").ends_with("[DONE]"));
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  std::printf("tokens in a second over 1,000 streams: %.0f\n",
              rounds * streams / seconds);
  EXPECT_TRUE(becomes("sluice:generation_tokens_total",
                      std::to_string(streams * (rounds + 5))));
}
