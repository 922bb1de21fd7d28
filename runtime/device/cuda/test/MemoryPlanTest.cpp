//===- MemoryPlanTest.cpp - the layout of a program's device memory -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/MemoryPlan.h"
#include "runtime/device/cuda/CudaExecutor.h"
#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/TinyGraph.h"
#include "runtime/device/cuda/weights/WeightUpload.h"

#include <algorithm>
#include <gmock/gmock.h>

using namespace sluice;
using namespace sluice::cuda;
using testing::ElementsAre;

namespace {

const cpu::TinyProgram &tiny() {
  static const cpu::TinyProgram program(cpu::Isa::Avx2);
  return program;
}

CudaExecutorOptions someLimits() {
  CudaExecutorOptions limits;
  limits.rows = 100;
  limits.outputs = 10;
  limits.sequences = 5;
  limits.pages = 20;
  limits.contextLength = 100;
  return limits;
}

} // namespace

TEST(MemoryPlanTest, GraphsAreForPowersOfTwoAndTheLimit) {
  EXPECT_THAT(bucketsOf(1), ElementsAre(1));
  EXPECT_THAT(bucketsOf(8), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(bucketsOf(100), ElementsAre(1, 2, 4, 8, 16, 32, 64, 100));
  for (int64_t limit : {1, 8, 100})
    for (int64_t rows = 1; rows <= limit; ++rows) {
      std::vector<int64_t> all = bucketsOf(limit);
      EXPECT_EQ(bucketOf(rows, limit),
                *std::lower_bound(all.begin(), all.end(), rows));
    }
}

TEST(MemoryPlanTest, PlacesFollowEachOtherAndAreAligned) {
  CudaProgram program = tinyGraph(tiny());
  MemoryPlan plan = MemoryPlan::make(program, someLimits()).take();
  std::vector<uint64_t> places = plan.weights;
  places.insert(places.end(), plan.ropes.begin(), plan.ropes.end());
  places.insert(places.end(), plan.caches.begin(), plan.caches.end());
  for (uint64_t place :
       {plan.layerPages, plan.values, plan.partials, plan.tickets,
        plan.tailTicket, plan.spans, plan.slopes, plan.tables, plan.moves,
        plan.rowNow, plan.greedy, plan.candidates, plan.found})
    places.push_back(place);
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  for (uint64_t place : places)
    EXPECT_EQ(place % 256, 0u);
  EXPECT_GT(plan.bytes, places.back());
  EXPECT_EQ(plan.weightBytes + plan.cacheBytes + plan.stepBytes, plan.bytes);
  // 20 pages of 2 heads, with keys and values of 32 tokens of 64 halves.
  EXPECT_EQ(plan.caches[1] - plan.caches[0], 20u * 2 * 2 * 32 * 64 * 2);
  // Values have room for multiples of 64 rows; those of outputs follow.
  EXPECT_EQ(plan.partials - plan.values,
            uint64_t(128 * program.rowFloats + 64 * program.outputFloats) * 4);
  // One span of 128 tokens.
  EXPECT_EQ(plan.spansPerRow, 1);
  // Four heads have partial results of 68 floats each.
  EXPECT_EQ(plan.slopes - plan.spans, (100u + 100) * 4 * 68 * 4);
}

/// The program only gives logits.
TEST(MemoryPlanTest, WhereNoTokensAreFoundThereIsNoRoomForThem) {
  CudaProgram program = tinyGraph(tiny());
  MemoryPlan with = MemoryPlan::make(program, someLimits()).take();
  ASSERT_TRUE(program.step.findsTokens());
  program.step.tasks.pop_back();
  ASSERT_FALSE(program.step.findsTokens());
  MemoryPlan without = MemoryPlan::make(program, someLimits()).take();
  EXPECT_EQ(with.tokenOutputs, 10);
  EXPECT_EQ(without.tokenOutputs, 0);
  EXPECT_EQ(without.decided, without.greedy);
  EXPECT_EQ(with.stepBytes - without.stepBytes, with.decided - with.greedy);
}

TEST(MemoryPlanTest, PartialResultsOfAttentionAreBounded) {
  CudaProgram program = tinyGraph(tiny());
  program.contextLength = 131072;
  CudaExecutorOptions limits = someLimits();
  limits.contextLength = 131072;
  program.caches.assign(program.caches.size(), {8, 128});
  for (device::PlannedAttention &attention : program.step.attentions)
    attention.heads = 32;
  // 32 heads of 128 take 17 KB a span, so 256 MiB have room for 15887 spans.
  MemoryPlan plan = MemoryPlan::make(program, limits).take();
  EXPECT_EQ(plan.spansPerRow, 1024);
  EXPECT_EQ(plan.spanPlaces, 15887);
  EXPECT_EQ(plan.slopes - plan.spans, (15887u + 100) * 32 * 132 * 4);
}

/// Of groups of many heads, each 16 have a ticket.
TEST(MemoryPlanTest, AttentionHasTicketsForItsRows) {
  CudaProgram program = tinyGraph(tiny());
  CudaExecutorOptions limits = someLimits();
  program.caches.assign(program.caches.size(), {2, 128});
  for (device::PlannedAttention &attention : program.step.attentions)
    attention.heads = 80;
  EXPECT_EQ(MemoryPlan::make(program, limits)->ticketBytes, 100u * 2 * 3 * 4);
}

TEST(MemoryPlanTest, APartnerHasNoPlaceOfItsOwn) {
  CudaProgram program = tinyGraph(tiny());
  MemoryPlan before = MemoryPlan::make(program, someLimits()).take();
  std::get<LinearWeight>(program.weights[5]).isPartner = true;
  MemoryPlan after = MemoryPlan::make(program, someLimits()).take();
  EXPECT_EQ(after.weights[6], after.weights[5]);
  EXPECT_LT(after.bytes, before.bytes);
}

/// The tiles of the output head are also the table.
TEST(MemoryPlanTest, ATiedTableHasNoPlaceOfItsOwn) {
  CudaProgram program = tinyGraph(tiny());
  auto &table = std::get<TableWeight>(program.weights[0]);
  std::get<LinearWeight>(program.weights[3]).matrix = table.matrix;
  MemoryPlan before = MemoryPlan::make(program, someLimits()).take();
  EXPECT_NE(before.weights[0], before.weights[3]);
  table.tied = 3;
  MemoryPlan after = MemoryPlan::make(program, someLimits()).take();
  EXPECT_EQ(after.weights[0], after.weights[3]);
  EXPECT_EQ(before.weightBytes - after.weightBytes,
            (*layoutBytes(*weightSpec(tilesOf(table))) + 255) / 256 * 256);
}

/// A table in a format without kernels is widened, and its wide size is
/// counted.
TEST(MemoryPlanTest, TablesAreCountedAsTheyLieThere) {
  CudaProgram program = tinyGraph(tiny());
  auto &table = std::get<TableWeight>(program.weights[0]);
  table.matrix = {table.matrix.data, Format::Q5_0, Format::Q5_0, 48, 64};
  EXPECT_EQ(tilesOf(table).matrix.format, Format::F32);
  MemoryPlan plan = MemoryPlan::make(program, someLimits()).take();
  EXPECT_EQ(plan.weights[1] - plan.weights[0], 48u * 64 * 4);
}

TEST(MemoryPlanTest, SizesThatOverflow) {
  CudaProgram program = tinyGraph(tiny());
  program.rowFloats = int64_t{1} << 40;
  CudaExecutorOptions limits = someLimits();
  limits.rows = 32768;
  limits.pages = int64_t{1} << 30;
  program.caches.assign(1 << 20, {65535, 256});
  EXPECT_THAT(MemoryPlan::make(program, limits).status().message(),
              testing::HasSubstr("more is needed than can be addressed"));
}

TEST(MemoryPlanTest, WhatIsMissingIsSaid) {
  MemoryPlan plan;
  plan.weightBytes = 16'000'000'000;
  plan.cacheBytes = 4'000'000'000;
  plan.stepBytes = 500'000'000;
  plan.bytes = 20'500'000'000;
  plan.graphBytes = 60'000'000;
  plan.codeBytes = 40'000'000;
  EXPECT_TRUE(checkRoom(plan, {20'600'000'000, 24'000'000'000}, "G").ok());
  EXPECT_EQ(
      checkRoom(plan, {20'590'000'000, 24'000'000'000}, "G").message(),
      "G: too little memory: 20.60 GB is needed (weights 16.00 GB, cache "
      "4.00 GB, a step 500.00 MB, reserved for graphs 60.00 MB and code 40.00 "
      "MB), 20.59 GB of 24.00 GB is free: 10.00 MB is missing");
  EXPECT_EQ(graphReserve(400), 400u * 4096);
}
