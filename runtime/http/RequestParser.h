//===- RequestParser.h - a strict parser of HTTP requests -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns the bytes that a client sends into a well-formed Request; uses no
// sockets and no clock. Beast parses the header and decodes the body. This
// parser also refuses requests that Beast accepts but that can be understood in
// two ways.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_REQUESTPARSER_H
#define SLUICE_RUNTIME_HTTP_REQUESTPARSER_H

#include "runtime/http/HttpRequest.h"

#include <cstddef>
#include <memory>

namespace sluice::http::server {

/// See ServerOptions.
struct HeaderLimits {
  size_t headerBytes = 0;
  size_t headerCount = 0;
  uint64_t bodyBytes = 0;
};

/// Why a request was refused: a status from 400 and one line of ASCII.
struct BadRequest {
  int status = 0; ///< 0: not refused
  std::string message;
};

/// Parses one request. Not thread-safe.
class RequestParser {
public:
  /// `peerAddress` and `peerPort` go into the request.
  explicit RequestParser(const HeaderLimits &limits,
                         std::string peerAddress = {}, uint16_t peerPort = 0);
  ~RequestParser();

  enum class Progress {
    NeedMore, ///< more bytes are needed
    Complete, ///< take() the request; remaining bytes belong to the next one
    Refused,  ///< see refusal(); the start of the next request is unknown
  };
  /// Parses more bytes. `bytes` must begin with the bytes that the last call
  /// has left; `consumed` becomes the number of bytes used. The rest is never
  /// longer than headerBytes plus the new bytes. Must not be called after
  /// Complete or Refused.
  Progress feed(std::string_view bytes, size_t &consumed);

  enum class Stage {
    Idle, ///< nothing has come, except perhaps empty lines
    Header,
    Body,
  };
  Stage stage() const;
  /// Returns whether the client waits for "100 Continue", at least for a while,
  /// before it sends the body. For stage Body.
  bool expectsContinue() const;
  /// Returns how many bytes of the body have come.
  size_t bodyBytes() const;

  const BadRequest &refusal() const;
  /// Returns the request as far as it has come. In stage Body, that is all but
  /// the body.
  const Request &request() const;
  /// Moves the request out, at any time: returns what is known of a request
  /// that is incomplete or was refused. Until its header is complete, only the
  /// peer is known; a target that is not valid is left empty.
  Request take();

private:
  class Reader;

  size_t emptyLines(std::string_view bytes) const;
  size_t findHeaderEnd(std::string_view bytes);
  void put(std::string_view bytes, size_t &consumed);
  void refuse(int status, std::string message);

  HeaderLimits limits;
  size_t scanned = 0; ///< bytes of the header that findHeaderEnd() has checked
  bool headerDone = false;
  std::unique_ptr<Reader> reader;
};

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_REQUESTPARSER_H
