//===- GuessTree.h - guesses behind the last confirmed row ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What may come behind a request's last confirmed row: the tree of guesses,
// with that row as its root. Nodes lie in the order in which they were added,
// so a parent before its children, and one pass forward does whatever is to be
// done: carry chances down, find who descends from whom, close gaps. A node
// gets its number when its row is first sent somewhere, as stages keep what
// they know by number and most guesses are never sent. Trees are small (some
// hundred nodes), and nothing allocates after construction.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_GUESSTREE_H
#define SLUICE_RUNTIME_CORE_GUESSTREE_H

#include "runtime/core/Rows.h"

#include <span>
#include <vector>

namespace sluice {

/// Whether the draft has said what may follow a row.
enum class Expansion : uint8_t { Open, Asked, Done };

struct GuessNode {
  NodeId node = noNode; ///< its number, if it has one
  NodeId parent = noNode;
  int32_t parentIndex = -1; ///< in nodes(); -1 for the root
  int32_t position = 0;
  int32_t token = 0;
  int32_t depth = 0;    ///< rows beyond the root
  int32_t children = 0; ///< in the tree
  float confidence = 0; ///< the draft's
  double chance = 1;    ///< that it follows its parent
  double pathChance = 1;
  Expansion expansion = Expansion::Open;
  bool launched = false;
  uint64_t slot = 0;
};

/// Thread-compatible. Indices into nodes() hold until the tree changes in
/// another way than by add().
class GuessTree {
public:
  /// `capacity`: nodes at a time, the root included.
  explicit GuessTree(int64_t capacity);

  std::span<GuessNode> nodes() { return held; }
  std::span<const GuessNode> nodes() const { return held; }
  bool empty() const { return held.empty(); }
  GuessNode &root() { return held.front(); }
  const GuessNode &root() const { return held.front(); }

  /// Guesses in flight: launched nodes but for the root.
  int64_t launched() const;
  /// Guesses that wait.
  int64_t waiting() const;
  /// The index of a node; -1: it is not in the tree.
  int32_t find(NodeId node) const;
  /// The index of the child with this token; -1: there is none.
  int32_t child(int32_t parentIndex, int32_t token) const;

  /// Forgets everything; the tree is a root that has not been launched.
  void reset(NodeId node, NodeId parent, int32_t position, int32_t token);
  void clear() { held.clear(); }

  /// Adds a guess behind a node that has a number; its index. -1: the tree is
  /// full.
  int32_t add(int32_t parentIndex, int32_t token, float confidence,
              double chance);

  struct Confirmation {
    bool found = false;    ///< the child is the root now; otherwise nothing
                           ///< is left
    bool launched = false; ///< and is in flight already
    int64_t died = 0;      ///< guesses in flight that died
  };
  /// The root's answer: `token` follows it. The child that has it is the new
  /// root; all that does not descend from it goes.
  Confirmation confirm(int32_t token);

  /// Drops the waiting guess with the least chance, if that is below
  /// `pathChance` and nothing follows it in the tree. Whether one was dropped.
  bool dropWorstBelow(double pathChance);
  /// Of the guesses of a depth keeps the `count` likeliest; none of them is
  /// launched or has children.
  void keepBest(int32_t depth, int64_t count);

private:
  void compact();

  std::vector<GuessNode> held;
  int64_t capacity;
  std::vector<uint8_t> kept;  ///< [index], for compact()
  std::vector<int32_t> moved; ///< [index before] is the index after
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_GUESSTREE_H
