//===- PieceWriter.h - writes one piece while the next is made ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_PROGRAM_PIECEWRITER_H
#define SLUICE_RUNTIME_PROGRAM_PIECEWRITER_H

#include "runtime/base/AtomicFile.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice {

/// Writes pieces of a file by a thread of its own. There are two pieces in
/// memory: one is made while the other is written. For one thread, which leaves
/// the file alone meanwhile.
///
///   Expected<uint8_t *> piece = writer.next(bytes);
///   ... fills it ...
///   writer.write(position);
///   return writer.finish();
class PieceWriter {
public:
  explicit PieceWriter(AtomicFile &out);
  /// What was not written by then is dropped.
  ~PieceWriter();
  PieceWriter(const PieceWriter &) = delete;
  PieceWriter &operator=(const PieceWriter &) = delete;

  /// Memory for the next piece, of undefined contents, until it is handed over
  /// by write(). Waits for the piece before the last. Error: a write that
  /// failed.
  Expected<uint8_t *> next(uint64_t bytes);

  /// Hands the piece over; it begins at `position` of the file, with zeros up
  /// to there.
  void write(uint64_t position);

  /// Waits until all is written and writes zeros up to `position`.
  Status finish(uint64_t position);

private:
  struct Piece {
    std::vector<uint8_t> memory;
    uint64_t bytes = 0, position = 0;
  };

  void run();
  Status writeOne(const Piece &piece);
  Status padTo(uint64_t position);

  AtomicFile &out;
  std::array<Piece, 2> pieces;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t handedOver = 0, written = 0; // pieces
  Status status;                        // the first error
  bool ending = false;
  std::thread thread; // the last: it uses the others
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PIECEWRITER_H
