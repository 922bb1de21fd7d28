//===- ByteStream.h - non-blocking bytes over a socket --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads from and writes to a connected socket without waiting; the result says
// what to wait for. A stream has no buffers of its own, so an idle connection
// holds none. PlainStream is here, TlsStream in TlsStream.h.
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
  WantRead,  ///< try again when the socket is readable
  WantWrite, ///< try again when the socket is writable
  Closed,    ///< from read(): the peer sends no more
  Failed,    ///< the connection is broken
  PlainHttp, ///< from handshake(): the peer speaks HTTP, not TLS
};

struct IoResult {
  IoState state = IoState::Done;
  size_t bytes = 0; ///< read or written, at least 1; only for Done
};

/// The bytes through all sockets of a server. Relaxed order suffices, because
/// the sums publish nothing else.
struct ByteCounters {
  std::atomic<uint64_t> in = 0, out = 0;
};

/// A stream over a non-blocking socket, which must outlive it.
class ByteStream {
public:
  virtual ~ByteStream() = default;
  /// Must be repeated until it returns Done, before anything else.
  virtual IoState handshake() = 0;
  /// `size` is at least 1.
  virtual IoResult read(char *data, size_t size) = 0;
  virtual IoResult write(const char *data, size_t size) = 0;
  /// Tells the peer that no more will be written, as far as this is possible
  /// without waiting.
  virtual void end() = 0;
};

/// Sets the options of a client's socket: small answers leave at once, and the
/// connection breaks if the client takes nothing for `stall` or its machine is
/// gone.
void setOptions(int socket, std::chrono::milliseconds stall);

/// Like recv() and send(), but count the traffic and raise no SIGPIPE.
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
