//===- TestClient.h - a client of raw bytes, for tests --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_TEST_TESTCLIENT_H
#define SLUICE_RUNTIME_HTTP_TEST_TESTCLIENT_H

#include "runtime/http/HttpRequest.h"

#include <cstdint>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::http::test {

/// An answer, parsed without the code under test.
struct ReadAnswer {
  int status = 0; ///< 0: no answer has come
  Fields fields;
  std::string body;
  std::vector<std::string> chunks;
  bool complete = false; ///< whether its end has come properly

  /// Returns the value of a field; "" if there is none.
  std::string field(std::string_view name) const;
};

/// A connection to a server on 127.0.0.1. Waits for anything
/// at most as long as all tests (TestServer.h).
class TestClient {
public:
  /// `from` is the client's address, one of 127.0.0.0/8.
  explicit TestClient(uint16_t port, bool usesTls = false,
                      const char *from = "127.0.0.1");
  ~TestClient();
  TestClient(const TestClient &) = delete;

  bool connected() const { return isConnected; }
  /// Returns whether all bytes could be sent.
  bool send(std::string_view bytes);
  /// Returns the next answer. With `isHead`, it has no body.
  ReadAnswer read(bool isHead = false);
  /// Returns the bytes up to and including `mark`; fewer if it does not come.
  std::string readUntil(std::string_view mark);
  /// Returns the bytes until the server closes.
  std::string readAll();
  /// Returns whether the server closes without sending more bytes.
  bool closedByServer();
  /// Returns whether the last read ended with a reset.
  bool wasReset() const { return isReset; }

  void close();
  /// Closes only the sending side.
  void shutdownWrite();
  /// Closes with RST.
  void reset();

  const int socket;

private:
  /// Appends received bytes to `buffer`. Returns false at the end or after five
  /// seconds.
  bool readMore();

  bool isConnected = false, isReset = false, isOver = false, isClosed = false;
  std::string buffer; ///< received and not returned yet
  SSL *ssl = nullptr;
};

/// Returns "GET path HTTP/1.1" with Host.
std::string get(std::string_view path, std::string_view fields = "");
/// Returns "POST path HTTP/1.1" with Host and Content-Length.
std::string post(std::string_view path, std::string_view body,
                 std::string_view fields = "");

} // namespace sluice::http::test

#endif // SLUICE_RUNTIME_HTTP_TEST_TESTCLIENT_H
