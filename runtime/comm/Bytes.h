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

/// Keeps the buffers of messages that have been read, so that they can be
/// filled again. Sending and receiving then allocate nothing once the buffers
/// have grown to the sizes of the messages. Thread-safe.
class BufferPool {
public:
  /// The pool keeps at most `bufferLimit` buffers and drops larger ones than
  /// `bufferBytesLimit`.
  static constexpr size_t bufferLimit = 256;
  static constexpr size_t bufferBytesLimit = size_t{16} << 20;

  BufferPool() { buffers.reserve(bufferLimit); }

  /// Returns an empty buffer, which keeps the capacity that it had before.
  Bytes take() {
    std::lock_guard lock(mutex);
    if (buffers.empty())
      return {};
    Bytes buffer = std::move(buffers.back());
    buffers.pop_back();
    return buffer;
  }

  /// Takes back a buffer whose content is no longer needed.
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
