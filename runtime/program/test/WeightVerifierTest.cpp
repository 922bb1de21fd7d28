//===- WeightVerifierTest.cpp - tests of the verifier of weights ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A verifier's thread reads all bytes once, or again and again, and reports the
// first damage once. It ends when it is told to, however slow its pace is.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/WeightVerifier.h"
#include "runtime/base/ByteDigest.h"

#include <condition_variable>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <list>
#include <mutex>
#include <unistd.h>

using namespace sluice;
using testing::HasSubstr;
using namespace std::chrono_literals;

namespace {

constexpr VerifierPace fast = {uint64_t(1) << 40, std::nullopt};
constexpr VerifierPace forEver = {uint64_t(1) << 40, uint64_t(1) << 40};

class WeightVerifierTest : public testing::Test {
protected:
  void SetUp() override {
    for (size_t size : {size_t(1000), size_t(0), (size_t(2) << 20) + 5})
      addWeight(size);
  }

  void addWeight(size_t size) {
    add(std::to_string(known.size()), memory.emplace_back(size, uint8_t(7)));
  }

  void add(const std::string &name, std::span<const uint8_t> bytes) {
    ByteDigest digest;
    digest.add(bytes);
    KnownBytes each;
    each.weight = name;
    each.bytes = bytes;
    each.digest = digest.finish();
    known.push_back(each);
  }

  std::function<void(const Status &)> damaged() {
    return [this](const Status &why) {
      std::lock_guard lock(mutex);
      reports.push_back(why.message());
      changed.notify_all();
    };
  }

  /// Returns false if there is no report within a minute.
  bool waitForReport() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, 60s, [this] { return !reports.empty(); });
  }

  static bool waitForPasses(const WeightVerifier &verifier, uint64_t passes) {
    for (int i = 0; i < 6000 && verifier.counts().passes < passes; ++i)
      std::this_thread::sleep_for(10ms);
    return verifier.counts().passes >= passes;
  }

  std::list<std::vector<uint8_t>> memory;
  std::vector<KnownBytes> known;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> reports; // guarded by `mutex`
};

TEST_F(WeightVerifierTest, GoesOverAllBytesOnce) {
  WeightVerifier verifier(known, fast, damaged());
  ASSERT_TRUE(waitForPasses(verifier, 1));
  EXPECT_EQ(verifier.counts().bytes, 1000u + (2 << 20) + 5);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(verifier.counts().passes, 1u);
  EXPECT_EQ(verifier.counts().bytes, 1000u + (2 << 20) + 5);
  EXPECT_TRUE(reports.empty());
}

TEST_F(WeightVerifierTest, GoesOnAndNoticesWhatChangesLater) {
  std::string path =
      testing::TempDir() + "verified." + std::to_string(::getpid());
  std::ofstream(path) << std::string(5000, 'x');
  auto file = std::make_shared<const MappedFile>(MappedFile::open(path).take());
  add("table", file->bytes());
  known.back().source = KnownBytes::Source::ModelFile;
  known.back().file = path;
  WeightVerifier verifier(known, forEver, damaged());
  ASSERT_TRUE(waitForPasses(verifier, 3));
  EXPECT_TRUE(reports.empty());
  {
    std::fstream change(path, std::ios::in | std::ios::out);
    change.seekp(4999);
    change << 'y';
  }
  ASSERT_TRUE(waitForReport());
  EXPECT_THAT(reports[0], HasSubstr(path + ": weight 'table' has changed"));
  // The thread has ended.
  uint64_t passes = verifier.counts().passes;
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(verifier.counts().passes, passes);
  EXPECT_EQ(reports.size(), 1u);
  std::remove(path.c_str());
}

TEST_F(WeightVerifierTest, TellsOfTheFirstThatDiffers) {
  memory.front()[0] ^= 1;
  memory.back()[0] ^= 1;
  {
    WeightVerifier verifier(known, fast, damaged());
    ASSERT_TRUE(waitForReport());
    EXPECT_EQ(verifier.counts().passes, 0u);
  }
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_THAT(reports[0], HasSubstr("weight '0'"));
}

TEST_F(WeightVerifierTest, EndsInTheMiddleOfASlowPass) {
  // At this pace the bytes take a week.
  WeightVerifier verifier(known, {4, std::nullopt}, damaged());
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(verifier.counts().passes, 0u);
}

TEST_F(WeightVerifierTest, OfNothingThereIsNothingToDo) {
  WeightVerifier verifier({}, forEver, damaged());
  EXPECT_EQ(verifier.counts().passes, 0u);
  Expected<const KnownBytes *> none = findDamage({}, {});
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
}

TEST_F(WeightVerifierTest, FindsTheFirstAtOnceByManyThreads) {
  PackingOptions options;
  options.threads = 3;
  Expected<const KnownBytes *> intact = findDamage(known, options);
  ASSERT_TRUE(intact);
  EXPECT_EQ(*intact, nullptr);
  memory.back()[(1 << 20) + 3] ^= 1;
  Expected<const KnownBytes *> damaged = findDamage(known, options);
  ASSERT_TRUE(damaged);
  EXPECT_EQ(*damaged, &known[2]);
  options.cancelled = [] { return true; };
  EXPECT_EQ(findDamage(known, options).status().message(), "interrupted");
}

} // namespace
