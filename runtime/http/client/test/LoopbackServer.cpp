//===- LoopbackServer.cpp - a server for tests, of plain sockets ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/test/LoopbackServer.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace sluice::http::test;

std::string Peer::readRequest() {
  size_t wanted = 0;
  while (true) {
    size_t end = pending.find("\r\n\r\n");
    if (wanted == 0 && end != std::string::npos) {
      wanted = end + 4;
      size_t length = pending.find("Content-Length: ");
      if (length < end)
        wanted += std::strtoul(pending.c_str() + length + 16, nullptr, 10);
    }
    if (wanted > 0 && pending.size() >= wanted) {
      std::string request = pending.substr(0, wanted);
      pending.erase(0, wanted);
      return request;
    }
    char bytes[16384];
    ssize_t count = recv(fd, bytes, sizeof(bytes), 0);
    if (count <= 0)
      return "";
    pending.append(bytes, static_cast<size_t>(count));
  }
}

bool Peer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool Peer::sendChunkedHead(std::string_view type) {
  return send("HTTP/1.1 200 OK\r\nContent-Type: " + std::string(type) +
              "\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool Peer::sendChunk(std::string_view bytes) {
  char size[32];
  std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
  return send(size + std::string(bytes) + "\r\n");
}

bool Peer::waitForClose() {
  pollfd waiting = {fd, POLLIN, 0};
  char byte = 0;
  return poll(&waiting, 1, 5000) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

void Peer::reset() {
  linger atOnce = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &atOnce, sizeof(atOnce));
}

std::string sluice::http::test::answer(std::string_view status,
                                       std::string_view body) {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

int sluice::http::test::listenOnLoopback(uint16_t &port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto *plain = reinterpret_cast<sockaddr *>(&address);
  socklen_t size = sizeof(address);
  if (fd < 0 || bind(fd, plain, size) != 0 || listen(fd, 4096) != 0 ||
      getsockname(fd, plain, &size) != 0)
    std::abort();
  port = ntohs(address.sin_port);
  return fd;
}

LoopbackServer::LoopbackServer(std::function<void(Peer &)> serve)
    : serve(std::move(serve)), listener(listenOnLoopback(port)),
      acceptor([this] { acceptAll(); }) {}

LoopbackServer::~LoopbackServer() {
  stopping = true;
  shutdown(listener, SHUT_RDWR);
  acceptor.join();
  {
    std::lock_guard<std::mutex> hold(lock);
    for (int fd : open)
      shutdown(fd, SHUT_RDWR);
  }
  for (std::thread &thread : threads)
    thread.join();
  close(listener);
}

void LoopbackServer::acceptAll() {
  while (!stopping) {
    int fd = accept(listener, nullptr, nullptr);
    if (fd < 0)
      continue;
    // Otherwise a piece may wait for the acknowledgement of the previous one.
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    std::lock_guard<std::mutex> hold(lock);
    open.push_back(fd);
    threads.emplace_back([this, fd] {
      Peer peer(fd);
      serve(peer);
      std::lock_guard<std::mutex> holdToo(lock);
      open.erase(std::find(open.begin(), open.end(), fd));
      close(fd);
    });
  }
}
