//===- ByteStream.h - bytes to and from a connected socket ----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes that never wait: they say what to wait for. They use no
// buffers of their own, so that a connection on which nothing happens holds
// none. Plain here, under TLS in TlsStream.h.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_BYTESTREAM_H
#define SLUICE_RUNTIME_HTTP_BYTESTREAM_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::http::server {

enum class IoState {
  Done,
  WantRead,  ///< again when the socket is readable
  WantWrite, ///< again when the socket is writable
  Closed,    ///< reading: the other side sends no more
  Failed,    ///< the connection is broken
  PlainHttp, ///< handshake: the other side does not speak TLS, but HTTP
};

struct IoResult {
  IoState state = IoState::Done;
  size_t bytes = 0; ///< read or written, at least 1; for Done
};

/// Bytes through all sockets of a server. Sums, by which nothing is published:
/// relaxed order is enough.
struct ByteCounters {
  std::atomic<uint64_t> in = 0, out = 0;
};

/// Over a non-blocking socket, which outlives it.
class ByteStream {
public:
  virtual ~ByteStream() = default;
  /// To be repeated until it is Done; before anything else.
  virtual IoState handshake() = 0;
  /// `size` is at least 1.
  virtual IoResult read(char *data, size_t size) = 0;
  virtual IoResult write(const char *data, size_t size) = 0;
  /// Says that no more will be written, as far as that can be said without
  /// waiting.
  virtual void end() = 0;
};

/// For a client's socket: small answers leave at once, and a client that takes
/// nothing for `stall`, or whose machine is gone, breaks the connection.
void setOptions(int socket, std::chrono::milliseconds stall);

/// As recv() and send() do it; the traffic is counted. No SIGPIPE.
IoResult receiveSome(int socket, char *data, size_t size,
                     ByteCounters &traffic);
IoResult sendSome(int socket, const char *data, size_t size,
                  ByteCounters &traffic);

class PlainStream final : public ByteStream {
public:
  PlainStream(int socket, ByteCounters &traffic)
      : socket(socket), traffic(traffic) {}

  IoState handshake() override { return IoState::Done; }
  IoResult read(char *data, size_t size) override {
    return receiveSome(socket, data, size, traffic);
  }
  IoResult write(const char *data, size_t size) override {
    return sendSome(socket, data, size, traffic);
  }
  void end() override;

private:
  const int socket;
  ByteCounters &traffic;
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_BYTESTREAM_H
