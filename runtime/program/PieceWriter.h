//===- PieceWriter.h - a writer with a thread of its own ------------------===//
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

/// Writes pieces of a file on a thread of its own. Two pieces are in memory:
/// the caller makes one while the other is written. Used by one thread, which
/// must not use the file meanwhile.
///
///   Expected<uint8_t *> piece = writer.next(bytes);
///   ... fill the piece ...
///   writer.write(position);
///   return writer.finish(end);
class PieceWriter {
public:
  explicit PieceWriter(AtomicFile &out);
  /// Drops the pieces that have not been written.
  ~PieceWriter();
  PieceWriter(const PieceWriter &) = delete;
  PieceWriter &operator=(const PieceWriter &) = delete;

  /// Returns memory for the next piece, with undefined content, which is the
  /// caller's until write(). Waits until the piece before the last one is
  /// written. Error: a write has failed.
  Expected<uint8_t *> next(uint64_t bytes);

  /// Queues the piece for writing at `position` of the file. A gap before it is
  /// filled with zeros.
  void write(uint64_t position);

  /// Waits until all pieces are written, and writes zeros up to `position`.
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
  std::thread thread; // last, because it uses the other members
};

} // namespace sluice

#endif // SLUICE_RUNTIME_PROGRAM_PIECEWRITER_H
