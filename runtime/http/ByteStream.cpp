//===- ByteStream.cpp - non-blocking bytes over a socket ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/ByteStream.h"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

using namespace sluice::http;
using namespace sluice::http::server;

/// Bytes of a connection that the kernel may hold unsent. More would not make
/// it faster, and would hide that a client is slow.
static constexpr int kernelUnsentBytes = 128 << 10;
/// If a connection has been silent for `aliveSeconds`, the kernel probes the
/// peer every `aliveIntervalSeconds`.
static constexpr int aliveSeconds = 30, aliveIntervalSeconds = 10;
void server::setOptions(int socket, std::chrono::milliseconds stall) {
  auto set = [&](int level, int name, int value) {
    setsockopt(socket, level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, kernelUnsentBytes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(stall.count()));
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, aliveSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, aliveIntervalSeconds);
}

static bool wouldWait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

IoResult server::receiveSome(int socket, char *data, size_t size,
                             ByteCounters &traffic) {
  ssize_t count;
  do
    count = recv(socket, data, size, 0);
  while (count < 0 && errno == EINTR);
  if (count == 0)
    return {IoState::Closed};
  if (count < 0)
    return {wouldWait() ? IoState::WantRead : IoState::Failed};
  auto bytes = static_cast<size_t>(count);
  traffic.in.fetch_add(bytes, std::memory_order_relaxed);
  return {IoState::Done, bytes};
}

IoResult server::sendSome(int socket, const char *data, size_t size,
                          ByteCounters &traffic) {
  ssize_t count;
  do
    count = send(socket, data, size, MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  if (count < 0)
    return {wouldWait() ? IoState::WantWrite : IoState::Failed};
  auto bytes = static_cast<size_t>(count);
  traffic.out.fetch_add(bytes, std::memory_order_relaxed);
  return {IoState::Done, bytes};
}

void PlainStream::end() { shutdown(socket, SHUT_WR); }
