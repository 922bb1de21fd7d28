//===- StepExchangesTest.cpp - the collectives of a group in a step -------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs graphs with exchanges at all members of a group, each on its own device.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/StepExchanges.h"
#include "runtime/device/cuda/emulator/EmulatedDriver.h"
#include "runtime/device/cuda/test/TestGroup.h"
#include "runtime/device/cuda/test/TestUtils.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sluice;
using namespace sluice::cuda;

namespace {

constexpr int64_t rows = 3;

/// One member: a device with an arena, and a graph of `rows` rows.
class Member {
public:
  Member(TestExchange &exchange, int32_t number) : group(exchange, number) {
    device = (*emulator::openEmulated({}))->open(0).take();
    stream = *device->makeStream();
    kernels = KernelLibrary::load(*device, {}).take();
    program.members = exchange.members;
    context.program = &program;
    context.limits.rows = context.limits.outputs = rows;
    context.limits.pages = 8;
    context.limits.contextLength = 64;
    context.plan = MemoryPlan::make(program, context.limits).take();
    context.arena = *device->allocate(context.plan.bytes + valueBytes);
    host = *device->allocateHost(256);
    context.alive = host.device;
    context.exchanged = host.device + 128;
    context.kernels = kernels.get();
    context.group = &group;
    graph.emplace(context, rows);
    EXPECT_TRUE(
        device->fill(context.arena, 0, context.plan.bytes, stream).ok());
    const int32_t count = rows;
    EXPECT_TRUE(device
                    ->copyToDevice(reinterpret_cast<DeviceAddress>(
                                       graph->count(device::RecordKind::Rows)),
                                   &count, sizeof(count), stream)
                    .ok());
    EXPECT_TRUE(device->synchronize(stream).ok());
  }
  ~Member() {
    if (made)
      device->destroy(made);
    device->releaseHost(host);
    device->release(context.arena);
    device->destroy(stream);
  }

  /// Returns the value of that number.
  float *value(int number) {
    return reinterpret_cast<float *>(context.arena + context.plan.bytes +
                                     uint64_t(number) * valueBytes / 4);
  }
  CollectiveOperands operands() {
    return {device::RecordKind::Rows, value(0), value(1), value(2)};
  }

  void launch() {
    Expected<Graph> graph = device->makeGraph(this->graph->nodes);
    ASSERT_TRUE(graph) << graph.status().message();
    made = *graph;
    ASSERT_TRUE(device->launch(made, stream).ok());
  }
  void await() { EXPECT_TRUE(device->synchronize(stream).ok()); }

  static constexpr uint64_t valueBytes = uint64_t{1} << 20;
  TestGroup group;
  std::unique_ptr<Device> device;
  Stream stream = nullptr;
  std::unique_ptr<KernelLibrary> kernels;
  CudaProgram program;
  GraphContext context;
  HostMemory host;
  std::optional<StepGraph> graph;
  Graph made = nullptr;
};

/// Returns all members, each of which has run its graph to the end.
std::vector<std::unique_ptr<Member>>
runAll(int32_t members, TestExchange &exchange,
       const std::function<void(Member &)> &build) {
  std::vector<std::unique_ptr<Member>> all;
  for (int32_t number = 0; number < members; ++number) {
    all.push_back(std::make_unique<Member>(exchange, number));
    build(*all.back());
    EXPECT_FALSE(all.back()->graph->failed());
    all.back()->launch();
  }
  for (std::unique_ptr<Member> &each : all) {
    EXPECT_TRUE(each->device->enter().ok());
    each->await();
  }
  return all;
}

std::vector<float> numbersOf(int32_t member, int64_t count) {
  std::mt19937 random(static_cast<unsigned>(member));
  std::vector<float> values = randomFloats(random, size_t(count));
  std::normal_distribution<float> normal;
  for (float &value : values)
    value *= std::pow(10.0F, normal(random));
  return values;
}

/// Destroys the members. A device releases memory only from a thread that has
/// entered it.
void close(std::vector<std::unique_ptr<Member>> &all) {
  for (std::unique_ptr<Member> &each : all) {
    EXPECT_TRUE(each->device->enter().ok());
    each.reset();
  }
}

} // namespace

/// This holds also if there are fewer numbers than shares.
TEST(StepExchangesTest, SumsHaveTheSameBitsAtAllMembers) {
  for (int32_t members : {1, 2, 3, 4})
    for (int64_t cols : {1, 24, 500}) {
      std::vector<float> expected = numbersOf(0, rows * cols);
      for (int32_t other = 1; other < members; ++other) {
        const std::vector<float> more = numbersOf(other, rows * cols);
        for (size_t i = 0; i < expected.size(); ++i)
          expected[i] += more[i];
      }
      TestExchange exchange(members);
      auto all = runAll(members, exchange, [&](Member &member) {
        std::ranges::copy(numbersOf(member.group.member(), rows * cols),
                          member.value(0));
        addAllReduce(&*member.graph, member.operands(), cols);
      });
      for (std::unique_ptr<Member> &each : all) {
        EXPECT_TRUE(
            sameBits<float>({each->value(1), expected.size()}, expected))
            << cols << " columns at member " << each->group.member();
        EXPECT_EQ(each->graph->exchanges, 2);
      }
      close(all);
    }
}

TEST(StepExchangesTest, ColumnsAreGathered) {
  constexpr int64_t part = 7, cols = 20;
  TestExchange exchange(3);
  auto all = runAll(3, exchange, [&](Member &member) {
    std::ranges::copy(numbersOf(member.group.member(), rows * part),
                      member.value(0));
    addAllGather(&*member.graph, member.operands(), part, cols);
  });
  for (std::unique_ptr<Member> &each : all)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col) {
        const int64_t member = col / part;
        const int64_t begin = std::min(member * part, cols - part);
        EXPECT_EQ(each->value(1)[row * cols + col],
                  numbersOf(int32_t(member),
                            rows * part)[size_t(row * part + col - begin)]);
      }
  close(all);
}

/// The flags of the other members' hosts do not matter.
TEST(StepExchangesTest, TheFirstMemberSaysWhoLives) {
  TestExchange exchange(3);
  std::vector<DeviceAddress> decided;
  auto all = runAll(3, exchange, [&](Member &member) {
    for (int64_t row = 0; row < rows; ++row)
      member.host.host[row] = member.group.member() == 0 ? row != 1 : 1;
    decided.push_back(addDecision(&*member.graph));
  });
  for (DeviceAddress address : decided) {
    auto *bytes = reinterpret_cast<const uint8_t *>(address);
    EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + rows),
              (std::vector<uint8_t>{1, 0, 1}));
  }
  close(all);
}

TEST(StepExchangesTest, TheFirstMemberGivesRowsToTheOthers) {
  constexpr int64_t cols = 24;
  TestExchange exchange(3);
  auto all = runAll(3, exchange, [&](Member &member) {
    std::ranges::copy(numbersOf(member.group.member(), rows * cols),
                      member.value(0));
    addBroadcast(&*member.graph, member.value(0), cols);
  });
  for (std::unique_ptr<Member> &each : all)
    EXPECT_TRUE(sameBits<float>({each->value(0), size_t(rows * cols)},
                                numbersOf(0, rows * cols)));
  close(all);
}

TEST(StepExchangesTest, WhatCannotBeGatheredIsRefused) {
  TestExchange exchange(2);
  Member member(exchange, 0);
  addAllGather(&*member.graph, member.operands(), 7, 20);
  EXPECT_TRUE(member.graph->failed());
}

/// Lists what each collective consists of, also if nothing is launched.
TEST(StepExchangesTest, NodesHaveNames) {
  using testing::ElementsAre;
  TestExchange exchange(2);
  for (int32_t number : {0, 1}) {
    Member member(exchange, number);
    member.context.kernels = nullptr;
    std::vector<std::string> names;
    member.context.nodeNames = &names;
    StepGraph &graph = *member.graph;
    addBroadcast(&graph, member.value(0), 24);
    EXPECT_THAT(names, ElementsAre("exchange"));
    names.clear();
    addAllReduce(&graph, member.operands(), 24);
    EXPECT_THAT(names, ElementsAre("exchange", "sluice_sum_parts", "exchange"));
    names.clear();
    addAllGather(&graph, member.operands(), 12, 24);
    EXPECT_THAT(names, ElementsAre("exchange", "sluice_join_columns"));
    names.clear();
    addDecision(&graph);
    if (number == 0)
      EXPECT_THAT(names, ElementsAre("sluice_read_alive", "exchange"));
    else
      EXPECT_THAT(names, ElementsAre("exchange"));
    EXPECT_TRUE(graph.nodes.empty());
    EXPECT_FALSE(graph.failed());
  }
}

TEST(StepExchangesTest, NodesOfNoGroupHaveNoNames) {
  TestExchange exchange(2);
  Member member(exchange, 0);
  member.context.kernels = nullptr;
  member.context.group = nullptr;
  std::vector<std::string> names;
  member.context.nodeNames = &names;
  addBroadcast(&*member.graph, member.value(0), 24);
  EXPECT_TRUE(member.graph->failed());
  EXPECT_TRUE(names.empty());
}
