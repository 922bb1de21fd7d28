//===- ResponseReader.h - an incremental parser of HTTP answers -----------===//
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

/// Receives the parts of an answer.
class ResponseSink {
public:
  virtual ~ResponseSink() = default;
  virtual void onHead(const ResponseHead &head) = 0;
  virtual void onBody(std::string_view piece) = 0;
};

/// Parses one answer from pieces of any size (Beast's parser). Pure: no I/O.
class ResponseReader {
public:
  ResponseReader(size_t maxHeaderBytes, uint64_t maxBodyBytes);
  ~ResponseReader();

  /// Parses the next piece. Fails if it is not HTTP/1 or exceeds a limit;
  /// feed() must not be called after an error.
  std::optional<Failure> feed(std::string_view piece, ResponseSink &sink);

  /// Reports that the server has closed the connection. That completes an
  /// answer without a length; for all others it is an error.
  std::optional<Failure> feedEnd();

  bool isComplete() const;
  /// Returns whether the connection can be used again: the server keeps it open
  /// and has sent nothing after this answer.
  bool canFollow() const;
  /// Returns whether any byte has come.
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
  std::string rest; ///< an incomplete header or chunk header
  std::unique_ptr<Parser> parser;
};

} // namespace sluice::http::client

#endif // SLUICE_RUNTIME_HTTP_CLIENT_RESPONSEREADER_H
