//===- Bytes.h - buffers of messages --------------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_COMM_BYTES_H
#define SLUICE_RUNTIME_COMM_BYTES_H

#include <cstdint>
#include <mutex>
#include <vector>

namespace sluice::comm {

/// The bytes of one framed message (Frame.h makes and reads them).
using Bytes = std::vector<uint8_t>;

/// Buffers of messages that have been read, to be filled again, so that sending
/// and receiving allocate nothing once messages have found their sizes.
/// Thread-safe.
class BufferPool {
public:
  /// Keeps at most this many buffers, and none bigger than this.
  static constexpr size_t bufferLimit = 256;
  static constexpr size_t bufferBytesLimit = size_t{16} << 20;

  BufferPool() { buffers.reserve(bufferLimit); }

  /// An empty buffer, with the room it had before.
  Bytes take() {
    std::lock_guard lock(mutex);
    if (buffers.empty())
      return {};
    Bytes buffer = std::move(buffers.back());
    buffers.pop_back();
    return buffer;
  }

  /// Takes a buffer back whose content is of no more use.
  void give(Bytes buffer) {
    if (buffer.capacity() == 0 || buffer.capacity() > bufferBytesLimit)
      return;
    buffer.clear();
    std::lock_guard lock(mutex);
    if (buffers.size() < bufferLimit)
      buffers.push_back(std::move(buffer));
  }

private:
  std::mutex mutex;
  std::vector<Bytes> buffers;
};

} // namespace sluice::comm

#endif // SLUICE_RUNTIME_COMM_BYTES_H
