//===- StageHarness.h - a stage over a fake cache -------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage whose layers are replaced by a record of their caches: each slot of
// each page of each layer's cache holds the name of the row that was stored in
// it. A row that is computed checks that it finds its ancestor at every
// position up to its own; or, in a shared prefix, a row of another request with
// the same tokens up to it. Copies, rows and mirrors are carried out as by an
// executor, and rows leave between the layers: either as the stage says there,
// or on a device that passes its checkpoints by itself and reads the deaths
// while they are written.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_STAGEHARNESS_H
#define SLUICE_RUNTIME_CORE_TEST_STAGEHARNESS_H

#include "runtime/core/Stage.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace sluice::test {

/// Every row that was ever sent, and those of prefixes, which were not sent.
class KnownRows {
public:
  void add(const Row &row) { entry(row.request, row.node) = {row, false, {}}; }
  void addPrefix(const OpenRequest &open) {
    for (int32_t at = 0; at < std::ssize(open.prefix); ++at) {
      Row row;
      row.request = open.request;
      row.node = open.firstNode + at;
      row.parent = at > 0 ? row.node - 1 : noNode;
      row.position = at;
      row.token = open.prefix[static_cast<size_t>(at)];
      entry(row.request, row.node) = {row, true, {}};
    }
  }

  const Row &at(RequestId request, NodeId node) const {
    return rows[static_cast<size_t>(request)][static_cast<size_t>(node)].row;
  }
  bool isOfPrefix(const Row &row) const {
    return rows[static_cast<size_t>(row.request)][static_cast<size_t>(row.node)]
        .ofPrefix;
  }
  /// Returns the tokens up to and including the row's.
  const std::vector<int32_t> &pathOf(const Row &row) {
    std::vector<int32_t> &path = entry(row.request, row.node).path;
    if (path.empty()) {
      path.resize(static_cast<size_t>(row.position) + 1);
      for (const Row *at = &row;; at = &this->at(row.request, at->parent)) {
        path[static_cast<size_t>(at->position)] = at->token;
        if (at->parent == noNode)
          break;
      }
    }
    return path;
  }

private:
  struct Entry {
    Row row;
    bool ofPrefix = false;
    std::vector<int32_t> path; ///< filled in when asked for
  };
  Entry &entry(RequestId request, NodeId node) {
    if (std::ssize(rows) <= request)
      rows.resize(static_cast<size_t>(request) + 1);
    std::vector<Entry> &ofRequest = rows[static_cast<size_t>(request)];
    if (std::ssize(ofRequest) <= node)
      ofRequest.resize(static_cast<size_t>(node) + 1);
    return ofRequest[static_cast<size_t>(node)];
  }

  std::vector<std::vector<Entry>> rows; ///< [request][node]
};

inline Row makeRow(RequestId request, NodeId node, NodeId parent,
                   int32_t position, bool certain) {
  Row row;
  row.request = request;
  row.node = node;
  row.parent = parent;
  row.position = position;
  row.token = static_cast<int32_t>(node * 7 + request);
  row.certain = certain;
  row.wantsOutput = true;
  return row;
}

inline StepFrame frameOf(std::vector<Row> rows) {
  StepFrame frame;
  frame.rows = std::move(rows);
  return frame;
}

/// Opens the request with a prompt whose nodes are `first` and up; its last row
/// wants an output.
inline StepFrame opening(int32_t tokens, RequestId request = 0,
                         NodeId first = 0) {
  StepFrame frame;
  OpenRequest open;
  open.request = request;
  open.firstNode = first;
  open.promptTokens = tokens;
  open.knownTokens = tokens;
  frame.opens.push_back(open);
  for (int32_t at = 0; at < tokens; ++at) {
    frame.rows.push_back(
        makeRow(request, first + at, at ? first + at - 1 : noNode, at, true));
    frame.rows.back().wantsOutput = at == tokens - 1;
  }
  return frame;
}

inline StepFrame closing(RequestId request = 0) {
  StepFrame frame;
  frame.closes.push_back(request);
  return frame;
}

using Nodes = std::vector<NodeId>;

inline Nodes nodesOf(std::span<const Row> rows) {
  Nodes nodes;
  for (const Row &row : rows)
    nodes.push_back(row.node);
  return nodes;
}

class StageHarness {
public:
  static constexpr int64_t layers = 2;

  StageHarness(const StageLimits &limits, int64_t pageCount)
      : pages(CachePages::create(
                  {pageCount, limits.branches, limits.contextLength})
                  .take()),
        board(limits.requests),
        stage(Stage::create(limits, pages, board).take()),
        memory(layers, std::vector<Name>(static_cast<size_t>(
                           pageCount * CachePages::pageTokens))) {}
  StageHarness(StageHarness &&) = delete;

  /// Called before each checkpoint with its number in the step.
  std::function<void(int)> beforeCheckpoint = [](int) {};
  /// Called when a step was formed, and before it is finished.
  std::function<void()> onFormed = [] {}, onComputed = [] {};
  /// Set if a device passes the checkpoints: chooses the deaths that it sees in
  /// time.
  std::optional<std::mt19937> device;
  int64_t orphans = 0; ///< orphans that the device has kept

  void enqueue(StepFrame frame) {
    for (const OpenRequest &open : frame.opens)
      known.addPrefix(open);
    for (const Row &row : frame.rows)
      known.add(row);
    Expected<uint64_t> number = stage.enqueue(std::move(frame));
    ASSERT_TRUE(number) << number.status().message();
  }

  /// Runs one step to its end. Returns false if the mailbox is empty.
  bool step(StepFrame &outgoing) {
    Expected<bool> formed = stage.formStep();
    EXPECT_TRUE(formed) << formed.status().message();
    if (!formed || !*formed)
      return false;
    checkBatch();
    onFormed();
    for (PageCopy copy : stage.pageCopies())
      for (std::vector<Name> &layer : memory)
        std::copy_n(layer.begin() + copy.from * CachePages::pageTokens,
                    CachePages::pageTokens,
                    layer.begin() + copy.to * CachePages::pageTokens);
    if (device)
      computeOnDevice();
    else
      compute();
    checkTokens();
    onComputed();
    outgoing.clear();
    stage.finishStep(outgoing);
    return true;
  }

  /// Runs steps until the mailbox is empty, and returns the rows that came out.
  std::vector<Row> drain() {
    std::vector<Row> out;
    StepFrame outgoing;
    while (step(outgoing))
      out.insert(out.end(), outgoing.rows.begin(), outgoing.rows.end());
    return out;
  }

  /// Checks that nothing is held any more.
  void expectEmpty() const {
    EXPECT_EQ(stage.holdings(), Stage::Holdings{});
    EXPECT_EQ(pages.freePages(), pages.limits().pages);
    EXPECT_EQ(pages.openSequences(), 0);
  }

  CachePages pages;
  EpochBoard board;
  Stage stage;
  KnownRows known;

private:
  struct Name {
    RequestId request = -1;
    NodeId node = -1;
    auto operator<=>(const Name &) const = default;
  };

  Name &at(std::vector<Name> &layer, SequenceId sequence, int32_t position) {
    int32_t page = pages.pages(sequence)[position / CachePages::pageTokens];
    return layer[page * CachePages::pageTokens +
                 position % CachePages::pageTokens];
  }

  /// Checks that the batch has each row once, with the row's values.
  void checkBatch() {
    const StepBatch &batch = stage.batch();
    ASSERT_EQ(std::ssize(stage.rows()), batch.rows());
    ASSERT_EQ(std::ssize(stage.origins()), batch.rows());
    std::set<std::pair<RequestId, NodeId>> names;
    for (int64_t row = 0; row < batch.rows(); ++row) {
      const Row &it = stage.rows()[row];
      ASSERT_EQ(batch.tokens()[row], it.token);
      ASSERT_EQ(batch.positions()[row], it.position);
      ASSERT_TRUE((names.insert({it.request, it.node}).second));
    }
  }

  Name nameOf(int64_t row) const {
    return {stage.rows()[row].request, stage.rows()[row].node};
  }

  void compute() {
    for (int layer = 0; layer < layers; ++layer) {
      present.assign(static_cast<size_t>(stage.batch().rows()), 1);
      store(memory[layer]);
      attend(memory[layer]);
      beforeCheckpoint(layer);
      checkpoint();
    }
  }

  /// Tells the stage which rows left only when the step has been computed.
  void computeOnDevice() {
    const auto rows = static_cast<size_t>(stage.batch().rows());
    present.assign(rows, 1);
    gone.clear();
    std::vector<uint8_t> reported(rows, 1);
    std::vector<int> departedAt(rows, layers);
    for (int layer = 0; layer < layers; ++layer) {
      store(memory[layer]);
      attend(memory[layer]);
      beforeCheckpoint(layer);
      stage.findDead(reported);
      for (size_t row = 0; row < rows; ++row)
        if (present[row] && !reported[row] && (*device)() % 2 == 0) {
          present[row] = 0;
          departedAt[row] = layer;
          gone.insert(nameOf(static_cast<int64_t>(row)));
        }
    }
    replay(departedAt);
  }

  void replay(const std::vector<int> &departedAt) {
    std::vector<int64_t> origins(departedAt.size());
    std::iota(origins.begin(), origins.end(), 0);
    auto follow = [&](std::span<const RowMove> moves) {
      for (RowMove move : moves)
        origins[move.to] = origins[move.from];
      origins.resize(static_cast<size_t>(stage.batch().rows()));
    };
    for (int layer = 0; layer < layers; ++layer) {
      std::vector<uint8_t> stays;
      for (int64_t origin : origins)
        stays.push_back(departedAt[origin] != layer);
      if (std::ranges::count(stays, 0) == 0)
        stays.clear();
      follow(stage.leave(stays));
    }
    int64_t wanted = 0;
    for (int64_t row = 0; row < std::ssize(origins); ++row)
      wanted += !isOrphan(nameOf(row));
    orphans += std::ssize(origins) - wanted;
    follow(stage.dropOrphans());
    ASSERT_EQ(stage.batch().rows(), wanted);
    for (int64_t row = 0; row < wanted; ++row)
      ASSERT_FALSE(isOrphan(nameOf(row)));
  }

  /// Returns whether an ancestor has left this step on the device.
  bool isOrphan(Name name) const {
    while (name.node != noNode && !gone.contains(name))
      name.node = known.at(name.request, name.node).parent;
    return name.node != noNode;
  }

  void store(std::vector<Name> &layer) {
    const StepBatch &batch = stage.batch();
    for (int64_t row = 0; row < batch.rows(); ++row)
      if (present[row])
        at(layer, batch.sequences()[row], batch.positions()[row]) = nameOf(row);
    for (Mirror mirror : batch.mirrors())
      if (present[mirror.row])
        at(layer, mirror.sequence, batch.positions()[mirror.row]) =
            nameOf(mirror.row);
  }

  void attend(std::vector<Name> &layer) {
    const StepBatch &batch = stage.batch();
    for (int64_t row = 0; row < batch.rows(); ++row) {
      if (!present[row] || isOrphan(nameOf(row)))
        continue;
      const Row *ancestor =
          &known.at(stage.rows()[row].request, stage.rows()[row].node);
      for (int32_t position = ancestor->position;; --position) {
        Name found = at(layer, batch.sequences()[row], position);
        ASSERT_EQ(ancestor->position, position);
        if (known.isOfPrefix(*ancestor)) {
          // The last row of the prefix decides for all rows before it.
          ASSERT_GE(found.node, 0);
          const Row &owner = known.at(found.request, found.node);
          ASSERT_EQ(owner.position, position);
          ASSERT_EQ(known.pathOf(owner), known.pathOf(*ancestor));
          attendPrefix(layer, batch.sequences()[row], owner);
          break;
        }
        ASSERT_EQ(found.request, ancestor->request);
        ASSERT_EQ(found.node, ancestor->node)
            << "at position " << position << " below row "
            << stage.rows()[row].node;
        if (position == 0)
          break;
        ancestor = &known.at(ancestor->request, ancestor->parent);
      }
    }
  }

  /// Checks the rows before `last` in a prefix: each must have the path of the
  /// last one.
  void attendPrefix(std::vector<Name> &layer, SequenceId sequence,
                    const Row &last) {
    const std::vector<int32_t> &path = known.pathOf(last);
    for (int32_t position = 0; position < last.position; ++position) {
      Name found = at(layer, sequence, position);
      ASSERT_GE(found.node, 0);
      const Row &owner = known.at(found.request, found.node);
      ASSERT_EQ(owner.position, position);
      ASSERT_TRUE(std::ranges::equal(known.pathOf(owner),
                                     std::span(path).first(position + 1)));
    }
  }

  /// Checks what the sampler would get for each row that is left.
  void checkTokens() {
    for (int64_t row = 0; row < stage.batch().rows(); ++row) {
      const Row *at = &stage.rows()[row];
      int64_t prompt = std::min<int64_t>(stage.requestOf(row).promptTokens,
                                         at->position + 1);
      std::span<const int32_t> first = stage.promptOf(row);
      ASSERT_EQ(std::ssize(first), prompt);
      std::span<const int32_t> then = stage.outputOf(row);
      ASSERT_EQ(std::ssize(then), at->position + 1 - prompt);
      while (true) {
        int64_t behind = at->position - prompt;
        ASSERT_EQ(behind < 0 ? first[at->position] : then[behind], at->token);
        if (at->position == 0)
          break;
        at = &known.at(at->request, at->parent);
      }
    }
  }

  void checkpoint() {
    std::vector<std::pair<RequestId, NodeId>> before;
    for (const Row &row : stage.rows())
      before.push_back({row.request, row.node});
    for (RowMove move : stage.checkpoint())
      before[move.to] = before[move.from];
    ASSERT_LE(stage.batch().rows(), std::ssize(before));
    for (int64_t row = 0; row < stage.batch().rows(); ++row)
      ASSERT_EQ((std::pair{stage.rows()[row].request, stage.rows()[row].node}),
                before[row]);
  }

  std::vector<std::vector<Name>> memory; ///< [layer][page slot]
  /// [row at the step's start]: whether it is on the device.
  std::vector<uint8_t> present;
  std::set<Name> gone; ///< rows that have left this step on the device
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_STAGEHARNESS_H
