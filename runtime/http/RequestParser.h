//===- RequestParser.h - bytes to a request -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The path from what a client sends to a well-formed Request, without sockets
// and without time. Beast parses the header and decodes the body; what it lets
// through and what could be understood in two ways is refused here.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_REQUESTPARSER_H
#define SLUICE_RUNTIME_HTTP_REQUESTPARSER_H

#include "runtime/http/HttpRequest.h"

#include <cstddef>
#include <memory>

namespace sluice::http::server {

/// As in ServerOptions.
struct HeaderLimits {
  size_t headerBytes = 0;
  size_t headerCount = 0;
  uint64_t bodyBytes = 0;
};

/// Why there is no request: a status from 400 and a line in ASCII.
struct BadRequest {
  int status = 0; ///< 0: none
  std::string message;
};

/// Parses one request. Not thread-safe.
class RequestParser {
public:
  /// `peerAddress` and `peerPort` become the request's.
  explicit RequestParser(const HeaderLimits &limits,
                         std::string peerAddress = {}, uint16_t peerPort = 0);
  ~RequestParser();

  enum class Progress {
    NeedMore, ///< bytes
    Complete, ///< take() it; the rest of the bytes belongs to the next one
    Refused,  ///< see refusal(); where the next request begins is not known
  };
  /// Reads on. `bytes` begins with those that the last call has left;
  /// `consumed` says how many this one has used. The rest is never longer than
  /// headerBytes and what was new. Not after Complete or Refused.
  Progress feed(std::string_view bytes, size_t &consumed);

  enum class Stage {
    Idle, ///< nothing of a request has come, at most empty lines
    Header,
    Body,
  };
  Stage stage() const;
  /// Whether the client sends the body only after a "100 Continue", or after a
  /// while. In stage Body.
  bool expectsContinue() const;
  /// Of the body, so far.
  size_t bodyBytes() const;

  const BadRequest &refusal() const;
  /// As far as it has come. In stage Body: all but the body.
  const Request &request() const;
  /// Not only after Complete: what is known of a request of which more was to
  /// come, or that is refused. Nothing but the peer, while its header is not
  /// complete; of a target that is not valid, nothing.
  Request take();

private:
  class Reader;

  size_t emptyLines(std::string_view bytes) const;
  size_t findHeaderEnd(std::string_view bytes);
  void put(std::string_view bytes, size_t &consumed);
  void refuse(int status, std::string message);

  HeaderLimits limits;
  size_t scanned = 0; ///< bytes of the header that have been looked at
  bool headerDone = false;
  std::unique_ptr<Reader> reader;
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_REQUESTPARSER_H
