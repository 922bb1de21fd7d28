//===- ResponseReader.h - from bytes to an HTTP/1 answer ------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_RESPONSEREADER_H
#define SLUICE_RUNTIME_HTTP_CLIENT_RESPONSEREADER_H

#include "runtime/http/client/Client.h"

#include <memory>
#include <optional>

namespace sluice::http::client {

/// Takes what is read.
class ResponseSink {
public:
  virtual ~ResponseSink() = default;
  virtual void onHead(const ResponseHead &head) = 0;
  virtual void onBody(std::string_view piece) = 0;
};

/// Reads one answer from bytes in pieces of any size (Beast's parser). Pure.
class ResponseReader {
public:
  ResponseReader(size_t maxHeaderBytes, uint64_t maxBodyBytes);
  ~ResponseReader();

  /// Reads the next piece. Errors: not HTTP/1, a limit exceeded; nothing may be
  /// read after one.
  std::optional<Failure> feed(std::string_view piece, ResponseSink &sink);

  /// The connection has been closed by the server: the end of an answer that
  /// has no other, an error for all others.
  std::optional<Failure> feedEnd();

  bool isComplete() const;
  /// Whether another answer can follow on the connection: the server keeps it,
  /// and has sent nothing after this answer.
  bool canFollow() const;
  /// Whether any byte has come.
  bool hasBegun() const { return begun; }

private:
  struct Parser;

  void startMessage();
  std::optional<Failure> parse(std::string_view &bytes, ResponseSink &sink);
  std::optional<Failure> takeHead(ResponseSink &sink);

  size_t maxHeaderBytes;
  uint64_t maxBodyBytes;
  int interimAnswers = 0;
  bool begun = false;
  bool headReported = false;
  std::string rest; ///< bytes of a header or a chunk's header that is not whole
  std::unique_ptr<Parser> parser;
};

} // namespace sluice::http::client

#endif // SLUICE_RUNTIME_HTTP_CLIENT_RESPONSEREADER_H
