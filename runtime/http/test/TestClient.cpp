//===- TestClient.cpp - a client of raw bytes, for tests ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/test/TestClient.h"

#include "runtime/http/test/TestServer.h"

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace sluice::http;
using namespace sluice::http::test;

std::string ReadAnswer::field(std::string_view name) const {
  for (const auto &[own, value] : fields)
    if (own.size() == name.size() &&
        strncasecmp(own.data(), name.data(), name.size()) == 0)
      return value;
  return "";
}

static SSL_CTX *clientContext() {
  static const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX *)> context(
      SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context.get();
}

TestClient::TestClient(uint16_t port, bool usesTls, const char *from)
    : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  std::signal(SIGPIPE, SIG_IGN); // SSL_write() raises SIGPIPE
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval limit = {patience.count(), 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in source = {};
  source.sin_family = AF_INET;
  inet_pton(AF_INET, from, &source.sin_addr);
  isConnected =
      bind(socket, reinterpret_cast<sockaddr *>(&source), sizeof source) == 0 &&
      connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof address) ==
          0;
  if (!usesTls || !isConnected)
    return;
  ssl = SSL_new(clientContext());
  SSL_set_fd(ssl, socket);
  isConnected = SSL_connect(ssl) == 1;
}

TestClient::~TestClient() { close(); }

bool TestClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count =
        ssl ? SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()))
            : ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool TestClient::readMore() {
  char bytes[16384];
  ssize_t count = ssl ? SSL_read(ssl, bytes, sizeof bytes)
                      : recv(socket, bytes, sizeof bytes, 0);
  if (count <= 0) {
    isReset = count < 0 && errno == ECONNRESET;
    isOver = isReset || count == 0 || (ssl && errno != EAGAIN);
    return false;
  }
  buffer.append(bytes, static_cast<size_t>(count));
  return true;
}

std::string TestClient::readUntil(std::string_view mark) {
  size_t end;
  while ((end = buffer.find(mark)) == buffer.npos)
    if (!readMore())
      return std::exchange(buffer, "");
  std::string text = buffer.substr(0, end + mark.size());
  buffer.erase(0, end + mark.size());
  return text;
}

std::string TestClient::readAll() {
  while (readMore()) {
  }
  return std::exchange(buffer, "");
}

bool TestClient::closedByServer() { return readAll().empty() && isOver; }

ReadAnswer TestClient::read(bool isHead) {
  ReadAnswer answer;
  std::string head = readUntil("\r\n\r\n");
  if (!head.ends_with("\r\n\r\n") || !head.starts_with("HTTP/1.1 "))
    return answer;
  answer.status = std::stoi(head.substr(9, 3));
  for (size_t at = head.find("\r\n") + 2; at + 2 < head.size();) {
    size_t colon = head.find(": ", at), end = head.find("\r\n", at);
    answer.fields.emplace_back(head.substr(at, colon - at),
                               head.substr(colon + 2, end - colon - 2));
    at = end + 2;
  }
  bool isBodiless = isHead || answer.status == 100 || answer.status == 204 ||
                    answer.status == 304;
  if (isBodiless) {
    answer.complete = true;
  } else if (answer.field("Transfer-Encoding") == "chunked") {
    for (;;) {
      std::string line = readUntil("\r\n");
      if (!line.ends_with("\r\n"))
        return answer;
      size_t size = std::stoul(line, nullptr, 16);
      while (buffer.size() < size + 2)
        if (!readMore())
          return answer;
      if (size == 0)
        break;
      answer.chunks.push_back(buffer.substr(0, size));
      answer.body += answer.chunks.back();
      buffer.erase(0, size + 2);
    }
    buffer.erase(0, 2);
    answer.complete = true;
  } else if (std::string length = answer.field("Content-Length");
             !length.empty()) {
    size_t size = std::stoul(length);
    while (buffer.size() < size && readMore()) {
    }
    answer.complete = buffer.size() >= size;
    answer.body = buffer.substr(0, size);
    buffer.erase(0, size);
  } else {
    answer.body = readAll();
    answer.complete = isOver && !isReset;
  }
  return answer;
}

void TestClient::close() {
  if (isClosed)
    return;
  isClosed = true;
  SSL_free(ssl);
  ::close(socket);
}

void TestClient::shutdownWrite() { shutdown(socket, SHUT_WR); }

void TestClient::reset() {
  linger now = {1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

std::string test::get(std::string_view path, std::string_view fields) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
         std::string(fields) + "\r\n";
}

std::string test::post(std::string_view path, std::string_view body,
                       std::string_view fields) {
  return "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
         "Content-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(fields) + "\r\n" + std::string(body);
}
