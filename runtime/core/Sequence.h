//===- Sequence.h - the tokens of one sequence ----------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   Sequence sequence(id, contextLength);
//   sequence.append(prompt);
//   while (sequence.pending() > 0) {
//     batch.clear();
//     int64_t rows = sequence.schedule(batch, chunk, LogitsOf::Last);
//     executor.execute(batch);
//     sequence.commit(rows);
//   }
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_SEQUENCE_H
#define SLUICE_RUNTIME_CORE_SEQUENCE_H

#include "runtime/core/StepBatch.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// Which of the rows that a call schedules get logits.
enum class LogitsOf : uint8_t {
  None,
  Last, ///< the row of the sequence's last token, once it is scheduled
  All,
};

/// Holds the tokens of one sequence, of which the first computed() are in the
/// cache. The memory for `tokenLimit` tokens is allocated at construction; no
/// later call allocates. Thread-compatible.
class Sequence {
public:
  /// `id` names the sequence's cache; the sequence can have `tokenLimit`
  /// tokens.
  Sequence(SequenceId id, int64_t tokenLimit);

  SequenceId id() const { return name; }
  int64_t length() const { return static_cast<int64_t>(ids.size()); }
  int64_t tokenLimit() const { return limit; }
  std::span<const int32_t> tokens() const { return ids; }

  /// Returns how many tokens have their keys and values in the cache.
  int64_t computed() const { return inCache; }
  /// Returns how many tokens no step has computed yet.
  int64_t pending() const { return length() - inCache; }

  /// Appends all the tokens. Fails, and appends none, beyond the limit.
  Status append(std::span<const int32_t> tokens);
  Status append(int32_t token) { return append({&token, 1}); }

  /// Adds rows for the first pending tokens to `batch`, as many as `maxRows`
  /// and the batch's limits allow. Returns how many; commit() that number once
  /// the step has succeeded. With LogitsOf::All every row takes an output.
  int64_t schedule(StepBatch &batch, int64_t maxRows, LogitsOf logits) const;

  /// Notes that the next `rows` pending tokens are in the cache now.
  void commit(int64_t rows);

  /// Drops all tokens from position `length` on. The caller must truncate the
  /// cache to the same length.
  void truncate(int64_t length);

private:
  SequenceId name;
  int64_t limit;
  int64_t inCache = 0;
  std::vector<int32_t> ids;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_SEQUENCE_H
