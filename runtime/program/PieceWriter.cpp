//===- PieceWriter.cpp - a writer with a thread of its own ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/PieceWriter.h"

#include <algorithm>

using namespace sluice;

PieceWriter::PieceWriter(AtomicFile &out)
    : out(out), thread([this] { run(); }) {}

PieceWriter::~PieceWriter() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  thread.join();
}

Expected<uint8_t *> PieceWriter::next(uint64_t bytes) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] {
    return !status.ok() || handedOver - written < pieces.size();
  });
  if (!status.ok())
    return status;
  Piece &piece = pieces[handedOver % pieces.size()];
  piece.bytes = bytes;
  if (piece.memory.size() < bytes)
    piece.memory.resize(bytes);
  return piece.memory.data();
}

void PieceWriter::write(uint64_t position) {
  {
    std::lock_guard lock(mutex);
    pieces[handedOver % pieces.size()].position = position;
    ++handedOver;
  }
  changed.notify_all();
}

Status PieceWriter::finish(uint64_t position) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !status.ok() || written == handedOver; });
  if (!status.ok())
    return status;
  return padTo(position);
}

void PieceWriter::run() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ending || written < handedOver; });
    if (ending)
      return;
    const Piece &piece = pieces[written % pieces.size()];
    lock.unlock();
    Status now = writeOne(piece);
    lock.lock();
    if (!now.ok()) {
      status = now;
      changed.notify_all();
      return;
    }
    ++written;
    changed.notify_all();
  }
}

Status PieceWriter::writeOne(const Piece &piece) {
  SLUICE_RETURN_IF_ERROR(padTo(piece.position));
  Status status = out.write(piece.memory.data(), piece.bytes);
  out.startWriteback();
  return status;
}

Status PieceWriter::padTo(uint64_t position) {
  static const uint8_t zeros[4096] = {};
  while (out.position() < position) {
    uint64_t missing = position - out.position();
    SLUICE_RETURN_IF_ERROR(
        out.write(zeros, std::min<uint64_t>(missing, sizeof(zeros))));
  }
  return {};
}
