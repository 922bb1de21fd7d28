//===- GuessTree.h - the guesses after the last confirmed row -------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tree of guesses of one request; its root is the last confirmed row. Nodes
// lie in the order in which they were added, so a parent lies before its
// children and one pass forward suffices to multiply chances, find descendants
// or close gaps. A node gets its number when its row is first sent to a stage,
// because stages index rows by number and most guesses are never sent. A tree
// has some hundred nodes, and nothing allocates after construction.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_GUESSTREE_H
#define SLUICE_RUNTIME_CORE_GUESSTREE_H

#include "runtime/core/Rows.h"

#include <span>
#include <vector>

namespace sluice {

/// Whether the draft has been asked, or has said, what may follow a row.
enum class Expansion : uint8_t { Open, Asked, Done };

struct GuessNode {
  NodeId node = noNode; ///< its number, or noNode before it has one
  NodeId parent = noNode;
  int32_t parentIndex = -1; ///< in nodes(); -1 for the root
  int32_t position = 0;
  int32_t token = 0;
  int32_t depth = 0;     ///< number of rows below the root
  int32_t children = 0;  ///< number of children in the tree
  float confidence = 0;  ///< the draft's confidence
  double chance = 1;     ///< the chance that the guess follows its parent
  double pathChance = 1; ///< the product of chances from the root
  Expansion expansion = Expansion::Open;
  bool launched = false;
  uint64_t slot = 0; ///< that the launched row joined; see SlotClock.h
};

/// Thread-compatible. An index into nodes() stays valid until a call other than
/// add() changes the tree.
class GuessTree {
public:
  /// `capacity` is the largest number of nodes, with the root.
  explicit GuessTree(int64_t capacity);

  std::span<GuessNode> nodes() { return held; }
  std::span<const GuessNode> nodes() const { return held; }
  bool empty() const { return held.empty(); }
  GuessNode &root() { return held.front(); }
  const GuessNode &root() const { return held.front(); }

  /// Returns how many guesses are in flight: launched nodes without the root.
  int64_t launched() const;
  /// Returns how many guesses have not been launched.
  int64_t waiting() const;
  /// Returns the index of a node; -1 if it is not in the tree.
  int32_t find(NodeId node) const;
  /// Returns the index of the child with this token; -1 if there is none.
  int32_t child(int32_t parentIndex, int32_t token) const;

  /// Replaces the tree by a root that has not been launched.
  void reset(NodeId node, NodeId parent, int32_t position, int32_t token);
  void clear() { held.clear(); }

  /// Adds a guess below a node that has a number and returns its index; -1 if
  /// the tree is full.
  int32_t add(int32_t parentIndex, int32_t token, float confidence,
              double chance);

  struct Confirmation {
    /// Whether a child had the token and is the new root; if not, the tree is
    /// empty.
    bool found = false;
    bool launched = false; ///< whether the new root is in flight already
    int64_t died = 0;      ///< number of guesses in flight that died
  };
  /// Takes the root's answer: `token` follows it. The child with that token
  /// becomes the root, and all nodes that do not descend from it are removed.
  Confirmation confirm(int32_t token);

  /// Drops the waiting guess without children that has the least chance, if
  /// that chance is below `pathChance`. Returns whether it dropped one.
  bool dropWorstBelow(double pathChance);
  /// Keeps the `count` likeliest guesses of a depth. None of that depth may be
  /// launched or have children.
  void keepBest(int32_t depth, int64_t count);

private:
  void compact();

  std::vector<GuessNode> held;
  int64_t capacity;
  std::vector<uint8_t> kept;  ///< [index], for compact()
  std::vector<int32_t> moved; ///< [old index]: the new index
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_GUESSTREE_H
