//===- NcclLibraryTest.cpp - opening NCCL, and one communicator -----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/MirrorRing.h"
#include "runtime/comm/nccl/NcclEnvelope.h"
#include "runtime/comm/nccl/NcclLink.h"
#include "runtime/comm/nccl/test/FakeNccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;
using testing::HasSubstr;

namespace {

TEST(NcclLibrary, VersionsAreChecked) {
  EXPECT_EQ(ncclVersionText(22809), "2.28.9");
  for (int version : {21707, 30000}) {
    FakeNccl::Faults faults;
    faults.version = version;
    FakeNccl::reset(faults);
    EXPECT_THAT(makeNccl(FakeNccl::functions()).status().message(),
                HasSubstr("needed is 2.18.0 or a later 2.x"));
  }
  FakeNccl::reset({});
  EXPECT_EQ(makeNccl(FakeNccl::functions())->version, 22809);
}

TEST(NcclLibrary, SaysWhatIsMissing) {
  EXPECT_THAT(openNccl("/nowhere/libnccl.so.2").status().message(),
              HasSubstr("cannot be opened: /nowhere/libnccl.so.2"));
  EXPECT_THAT(openNccl("libm.so.6").status().message(),
              HasSubstr("libm.so.6: has no ncclGetVersion"));
}

/// Opens the real library if it is installed. It opens without a GPU, and its
/// errors have its own texts.
TEST(NcclLibrary, RealOneOpens) {
  Expected<NcclLibrary> nccl = openNccl();
  if (!nccl)
    GTEST_SKIP() << nccl.status().message();
  EXPECT_GE(nccl->version, ncclOldestVersion);
  EXPECT_EQ(nccl->functions.commRevoke != nullptr, nccl->version >= 22800);
  Status error = nccl->check("ncclSend", NcclResult::InvalidUsage);
  EXPECT_THAT(error.message(), HasSubstr("NCCL: ncclSend: invalid usage"));
}

TEST(NcclLibrary, ErrorsHaveBothTexts) {
  FakeNccl::Faults faults;
  faults.failingCall = "ncclCommFinalize";
  FakeNccl::reset(faults);
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  NcclLink link(nccl);
  NcclUniqueId id;
  ASSERT_EQ(nccl.functions.getUniqueId(&id), NcclResult::Success);
  auto soon = NcclLink::Clock::now() + std::chrono::seconds(5);
  ASSERT_TRUE(link.join(id, 1, 0).ok());
  ASSERT_TRUE(link.settle("joining", soon).ok());
  EXPECT_FALSE(link.startEnd().ok());
  EXPECT_EQ(link.close(soon).message(),
            "NCCL: ncclCommFinalize: unhandled cuda error: a planned fault");
  EXPECT_EQ(FakeNccl::calls("ncclCommAbort"), 1);
  EXPECT_EQ(FakeNccl::open(), 0);
  // The first error stays.
  EXPECT_THAT(link.settled().status().message(), HasSubstr("a planned fault"));
}

/// Tests the fake itself: a caller that does not wait for the end of a call
/// gets an error.
TEST(FakeNccl, CallsMustSettle) {
  FakeNccl::reset({});
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  NcclLink link(nccl);
  NcclUniqueId id;
  ASSERT_EQ(nccl.functions.getUniqueId(&id), NcclResult::Success);
  ASSERT_TRUE(link.join(id, 1, 0).ok());
  EXPECT_EQ(nccl.functions.commFinalize(link.comm()), NcclResult::InvalidUsage);
}

TEST(NcclLink, AMissingRankIsNotAwaitedForEver) {
  FakeNccl::reset({});
  NcclLibrary nccl = *makeNccl(FakeNccl::functions());
  NcclLink link(nccl);
  NcclUniqueId id;
  ASSERT_EQ(nccl.functions.getUniqueId(&id), NcclResult::Success);
  ASSERT_TRUE(link.join(id, 2, 0).ok());
  auto soon = NcclLink::Clock::now() + std::chrono::milliseconds(50);
  EXPECT_EQ(link.settle("joining", soon).message(),
            "NCCL: joining takes too long");
}

TEST(MirrorRing, GoesRound) {
  MirrorRing ring(1024);
  EXPECT_EQ(ring.take(256), 0);
  EXPECT_EQ(ring.take(500), 256);
  EXPECT_EQ(ring.take(512), std::nullopt) << "256 bytes are left";
  ring.giveOldest();
  EXPECT_EQ(ring.take(512), std::nullopt) << "two pieces of 256";
  EXPECT_EQ(ring.take(1), 768);
  EXPECT_EQ(ring.take(256), 0);
  EXPECT_EQ(ring.take(1), std::nullopt) << "full";
  ring.giveOldest();
  EXPECT_EQ(ring.take(512), 256);
  EXPECT_EQ(ring.held(), 3u);
  for (int i = 0; i < 3; ++i)
    ring.giveOldest();
  EXPECT_EQ(ring.take(1024), 0) << "all of it, once it is empty";
}

/// A region for which the end is too short begins at the start, and never
/// overlaps the oldest region.
TEST(MirrorRing, RegionsNeverOverlap) {
  constexpr int64_t size = 64 * 256;
  MirrorRing ring(size);
  std::vector<std::pair<int64_t, int64_t>> held;
  uint64_t state = 1;
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t bytes = 1 + static_cast<int64_t>((state >> 33) % (size / 3));
    if (std::optional<int64_t> at = ring.take(bytes)) {
      EXPECT_EQ(*at % MirrorRing::alignment, 0);
      EXPECT_LE(*at + bytes, size);
      for (auto [begin, length] : held)
        EXPECT_TRUE(*at + bytes <= begin || begin + length <= *at);
      held.push_back({*at, bytes});
      ++taken;
    } else {
      ASSERT_FALSE(held.empty());
      ring.giveOldest();
      held.erase(held.begin());
    }
  }
  EXPECT_GT(taken, 5000);
}

TEST(NcclEnvelope, ReadsWhatItWrote) {
  Bytes bytes = {1, 2, 3};
  NcclEnvelope{NcclEnvelope::Kind::Payload, 512, 77}.close(bytes);
  EXPECT_EQ(bytes.size(), 3 + NcclEnvelope::size);
  Expected<NcclEnvelope> read = NcclEnvelope::open(bytes, Lane::Data);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->kind, NcclEnvelope::Kind::Payload);
  EXPECT_EQ(read->first, 512u);
  EXPECT_EQ(read->second, 77u);
  EXPECT_EQ(bytes, (Bytes{1, 2, 3}));
}

TEST(NcclEnvelope, RefusesWhatIsNone) {
  Bytes tooShort(NcclEnvelope::size - 1);
  EXPECT_THAT(NcclEnvelope::open(tooShort, Lane::Data).status().message(),
              HasSubstr("has no envelope"));
  Bytes unknown(NcclEnvelope::size);
  unknown[0] = 9;
  EXPECT_THAT(NcclEnvelope::open(unknown, Lane::Data).status().message(),
              HasSubstr("kind of an envelope 9"));
  for (auto [kind, lane] :
       {std::pair(NcclEnvelope::Kind::Payload, Lane::Control),
        std::pair(NcclEnvelope::Kind::Credit, Lane::Data)}) {
    Bytes bytes;
    NcclEnvelope{kind, 0, 0}.close(bytes);
    EXPECT_THAT(NcclEnvelope::open(bytes, lane).status().message(),
                HasSubstr("on the wrong lane"));
  }
}

} // namespace
