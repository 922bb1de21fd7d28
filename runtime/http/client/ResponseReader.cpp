//===- ResponseReader.cpp - an incremental parser of HTTP answers ---------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/ResponseReader.h"

#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::client;

namespace beast = boost::beast;
using boost::system::error_code;

namespace {

// NOLINTBEGIN(readability-identifier-naming): the names that Beast requires.
/// A body that is passed on instead of stored.
struct SinkBody {
  struct value_type {
    ResponseSink *sink = nullptr;
  };

  class reader {
  public:
    template <bool isRequest, class HeaderFields>
    reader(beast::http::header<isRequest, HeaderFields> &, value_type &body)
        : body(body) {}

    void init(const boost::optional<uint64_t> &, error_code &error) {
      error = {};
    }

    template <class Buffers>
    size_t put(const Buffers &buffers, error_code &error) {
      error = {};
      size_t total = 0;
      for (auto piece : beast::buffers_range_ref(buffers)) {
        body.sink->onBody(
            {static_cast<const char *>(piece.data()), piece.size()});
        total += piece.size();
      }
      return total;
    }

    void finish(error_code &error) { error = {}; }

  private:
    value_type &body;
  };
};
// NOLINTEND(readability-identifier-naming)

constexpr std::string_view protocol = "HTTP/";
constexpr int maxInterimAnswers = 16;
constexpr std::string_view lastChunk = "0\r\n\r\n"; ///< the shortest

Failure describe(error_code error) {
  using beast::http::error;
  if (error == error::header_limit)
    return {FailureKind::TooLarge, "the answer's header is too large"};
  if (error == error::body_limit)
    return {FailureKind::TooLarge, "the answer's body is too large"};
  return {FailureKind::Malformed,
          "the answer is not HTTP/1: " + error.message()};
}

} // namespace

struct ResponseReader::Parser {
  beast::http::response_parser<SinkBody> beast;
};

ResponseReader::ResponseReader(size_t maxHeaderBytes, uint64_t maxBodyBytes)
    : maxHeaderBytes(maxHeaderBytes), maxBodyBytes(maxBodyBytes) {
  startMessage();
}

ResponseReader::~ResponseReader() = default;

void ResponseReader::startMessage() {
  parser = std::make_unique<Parser>();
  parser->beast.header_limit(static_cast<uint32_t>(maxHeaderBytes));
  parser->beast.body_limit(maxBodyBytes);
}

bool ResponseReader::isComplete() const { return parser->beast.is_done(); }

bool ResponseReader::canFollow() const {
  return isComplete() && rest.empty() && parser->beast.keep_alive();
}

/// Handles a complete header.
std::optional<Failure> ResponseReader::takeHead(ResponseSink &sink) {
  const auto &message = parser->beast.get();
  if (message.result_int() == 101)
    return Failure{FailureKind::Malformed,
                   "the server switched to another protocol"};
  if (message.result_int() < 200) {
    if (++interimAnswers > maxInterimAnswers)
      return Failure{FailureKind::Malformed, "too many 1xx answers"};
    startMessage();
    return std::nullopt;
  }
  ResponseHead head;
  head.status = static_cast<int>(message.result_int());
  head.reason = std::string(message.reason());
  for (const auto &field : message)
    head.fields.emplace_back(field.name_string(), field.value());
  headReported = true;
  parser->beast.get().body().sink = &sink;
  // The parser stopped after the header; from now on it reads everything.
  parser->beast.eager(true);
  sink.onHead(head);
  return std::nullopt;
}

/// Parses as much as possible from the front of `bytes`.
std::optional<Failure> ResponseReader::parse(std::string_view &bytes,
                                             ResponseSink &sink) {
  while (!isComplete() && !bytes.empty()) {
    // Otherwise, a peer that does not speak HTTP would only be noticed at a
    // time-out.
    std::string_view start = bytes.substr(0, protocol.size());
    if (!parser->beast.got_some() && !protocol.starts_with(start))
      return Failure{FailureKind::Malformed, "the answer is not HTTP/1"};
    error_code error;
    size_t used = parser->beast.put({bytes.data(), bytes.size()}, error);
    bytes.remove_prefix(used);
    if (error == beast::http::error::need_more)
      return std::nullopt;
    if (error)
      return describe(error);
    if (parser->beast.is_header_done() && !headReported)
      if (std::optional<Failure> failed = takeHead(sink))
        return failed;
  }
  return std::nullopt;
}

std::optional<Failure> ResponseReader::feed(std::string_view piece,
                                            ResponseSink &sink) {
  begun |= !piece.empty();
  std::optional<Failure> failed;
  if (rest.empty()) {
    failed = parse(piece, sink);
    rest = piece;
  } else {
    rest += piece;
    // Beast asserts that it gets a last chunk as a whole.
    if (headReported && rest.front() == '0' && rest.size() < lastChunk.size())
      return std::nullopt;
    std::string_view bytes = rest;
    failed = parse(bytes, sink);
    rest.erase(0, rest.size() - bytes.size());
  }
  // Beast has no limit on a chunk's header.
  if (!failed && !isComplete() && rest.size() > maxHeaderBytes)
    return describe(beast::http::error::header_limit);
  return failed;
}

std::optional<Failure> ResponseReader::feedEnd() {
  if (isComplete())
    return std::nullopt;
  if (!begun)
    return Failure{FailureKind::Closed, "closed without an answer"};
  error_code error;
  if (headReported)
    parser->beast.put_eof(error);
  if (!headReported || error)
    return Failure{FailureKind::Closed, "closed before the answer's end"};
  return std::nullopt;
}
