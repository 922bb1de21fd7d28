//===- RequestParser.cpp - a strict parser of HTTP requests ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/RequestParser.h"

#include "runtime/http/Syntax.h"

#include <boost/beast/http/basic_parser.hpp>

#include <algorithm>

using namespace sluice::http;
using namespace sluice::http::server;

namespace beast = boost::beast;
using beast::http::error;
using Progress = RequestParser::Progress;

static std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// Collects what Beast parses, and refuses more than Beast does.
class RequestParser::Reader final : public beast::http::basic_parser<true> {
public:
  explicit Reader(const HeaderLimits &limits) : limits(limits) {
    eager(true);
    header_limit(static_cast<uint32_t>(limits.headerBytes));
    body_limit(limits.bodyBytes);
  }

  void refuse(int status, std::string message) {
    if (refusal.status == 0)
      refusal = {status, std::move(message)};
  }

  Request request;
  BadRequest refusal;
  bool expectsContinue = false;

private:
  using error_code = beast::error_code;

  /// Ends the parse. Beast's error code does not matter, because the first
  /// refusal counts.
  void stop(error_code &ec, int status, std::string message) {
    refuse(status, std::move(message));
    ec = error::bad_field;
  }

  void on_request_impl(beast::http::verb, beast::string_view method,
                       beast::string_view target, int version,
                       error_code &ec) override {
    constexpr size_t longestMethod = 32;
    if (method.size() > longestMethod)
      return stop(ec, 501, "unknown method");
    request.method = view(method);
    request.target = view(target);
    request.isHttp10 = version == 10;
    if (readTarget(request))
      return;
    request.target.clear(); // may be anything
    request.path.clear();
    request.query.clear();
    stop(ec, 400, "malformed request: invalid target");
  }

  void on_response_impl(int, beast::string_view, int, error_code &) override {}

  void on_field_impl(beast::http::field, beast::string_view name,
                     beast::string_view value, error_code &ec) override {
    if (++fieldCount > limits.headerCount)
      return stop(ec, 431,
                  std::string("more than ") +
                      std::to_string(limits.headerCount) +
                      (inBody ? " trailers" : " header fields"));
    if (inBody) // trailers are not used
      return countUnused(ec, name.size() + value.size());
    request.fields.emplace_back(view(name), view(value));
  }

  void on_header_impl(error_code &ec) override {
    checkHost(ec);
    if (!ec)
      checkSingle(ec);
    if (!ec)
      checkFraming(ec);
    if (!ec)
      checkExpect(ec);
    request.keepAlive = keep_alive();
    fieldCount = 0;
    inBody = true;
  }

  /// Checks Host after RFC 9112, 3.2.
  void checkHost(error_code &ec) {
    size_t hosts = 0;
    for (const auto &[name, value] : request.fields)
      if (equalsIgnoringCase(name, "Host")) {
        ++hosts;
        if (!isHost(value))
          return stop(ec, 400, "malformed request: invalid Host");
      }
    if (hosts > 1)
      return stop(ec, 400, "malformed request: more than one Host");
    if (hosts == 0 && !request.isHttp10)
      stop(ec, 400, "malformed request: no Host");
  }

  /// Checks fields that decide whether a request is taken: they must be
  /// unambiguous.
  void checkSingle(error_code &ec) {
    for (const char *single :
         {"Authorization", "Content-Encoding", "Content-Type", "Origin"})
      if (std::ranges::count_if(request.fields, [single](const auto &field) {
            return equalsIgnoringCase(field.first, single);
          }) > 1)
        return stop(ec, 400,
                    std::string("malformed request: more than one ") + single);
  }

  /// Checks after RFC 9112, 6.3, and more strictly where it leaves a choice: a
  /// proxy must not be able to see another end of the message.
  void checkFraming(error_code &ec) {
    size_t lengths = 0, codingFields = 0;
    std::vector<std::string_view> codings;
    for (const auto &[name, value] : request.fields) {
      if (equalsIgnoringCase(name, "Content-Length")) {
        ++lengths;
        if (value.find(',') != value.npos)
          ++lengths;
      }
      if (equalsIgnoringCase(name, "Transfer-Encoding")) {
        ++codingFields;
        for (std::string_view coding : splitList(value))
          codings.push_back(coding);
      }
    }
    if (lengths > 1)
      return stop(ec, 400, "malformed request: more than one Content-Length");
    if (codingFields == 0)
      return;
    auto isChunked = [](std::string_view coding) {
      return equalsIgnoringCase(coding, "chunked");
    };
    if (lengths > 0)
      return stop(ec, 400,
                  "malformed request: both Content-Length and "
                  "Transfer-Encoding");
    if (request.isHttp10)
      return stop(ec, 400, "malformed request: Transfer-Encoding in HTTP/1.0");
    auto chunked = std::ranges::find_if(codings, isChunked);
    if (codings.empty() ||
        (chunked != codings.end() && std::next(chunked) != codings.end()))
      return stop(ec, 400, "malformed request: invalid Transfer-Encoding");
    if (codings.size() != 1 || chunked == codings.end())
      stop(ec, 501, "unknown transfer coding; only chunked is known");
  }

  void checkExpect(error_code &ec) {
    for (const auto &[name, value] : request.fields) {
      if (!equalsIgnoringCase(name, "Expect") || request.isHttp10)
        continue;
      if (!equalsIgnoringCase(value, "100-continue"))
        return stop(ec, 417, "unknown expectation; only 100-continue is known");
      expectsContinue = true;
    }
  }

  void on_body_init_impl(const boost::optional<std::uint64_t> &,
                         error_code &) override {}

  size_t on_body_impl(beast::string_view body, error_code &) override {
    request.body += view(body);
    return body.size();
  }

  void on_chunk_header_impl(std::uint64_t, beast::string_view extensions,
                            error_code &ec) override {
    countUnused(ec, extensions.size()); // extensions are not used either
    if (std::ranges::any_of(extensions, [](unsigned char c) {
          return (c < ' ' && c != '\t') || c == 0x7f;
        }))
      stop(ec, 400, "malformed request: control character");
  }

  /// Limits unused bytes, which could make a small body a long read.
  void countUnused(error_code &ec, size_t bytes) {
    unusedBytes += bytes;
    if (unusedBytes > limits.headerBytes)
      stop(ec, 431, "chunk extensions and trailers too large");
  }

  size_t on_chunk_body_impl(std::uint64_t, beast::string_view body,
                            error_code &) override {
    request.body += view(body);
    return body.size();
  }

  void on_finish_impl(error_code &) override {}

  const HeaderLimits limits;
  size_t fieldCount = 0;
  size_t unusedBytes = 0; ///< bytes of extensions and trailers
  bool inBody = false;
};

RequestParser::RequestParser(const HeaderLimits &limits,
                             std::string peerAddress, uint16_t peerPort)
    : limits(limits), reader(std::make_unique<Reader>(limits)) {
  reader->request.peerAddress = std::move(peerAddress);
  reader->request.peerPort = peerPort;
}

RequestParser::~RequestParser() = default;

RequestParser::Stage RequestParser::stage() const {
  if (headerDone)
    return Stage::Body;
  return scanned == 0 ? Stage::Idle : Stage::Header;
}

bool RequestParser::expectsContinue() const { return reader->expectsContinue; }

size_t RequestParser::bodyBytes() const { return reader->request.body.size(); }

const BadRequest &RequestParser::refusal() const { return reader->refusal; }

const Request &RequestParser::request() const { return reader->request; }

Request RequestParser::take() { return std::move(reader->request); }

void RequestParser::refuse(int status, std::string message) {
  reader->refuse(status, std::move(message));
}

Progress RequestParser::feed(std::string_view bytes, size_t &consumed) {
  consumed = 0;
  if (!headerDone) {
    consumed = emptyLines(bytes);
    bytes.remove_prefix(consumed);
    size_t end = findHeaderEnd(bytes);
    if (refusal().status != 0)
      return Progress::Refused;
    if (end == 0)
      return Progress::NeedMore;
    size_t used = 0;
    put(bytes.substr(0, end), used);
    if (!reader->is_header_done()) // Beast waits for the rest of a short line
      refuse(400, "malformed request: incomplete line");
    if (refusal().status != 0)
      return Progress::Refused;
    headerDone = true;
    consumed += end;
    bytes.remove_prefix(end);
  }
  // Beast asserts that it is not called in the midst of the five bytes that end
  // the shortest chunked body; an incomplete body always has at least so many
  // to come.
  constexpr size_t shortestEnd = 5;
  if (!reader->is_done() &&
      bytes.size() >= (reader->chunked() ? shortestEnd : 1)) {
    size_t used = 0;
    put(bytes, used);
    consumed += used;
    if (!reader->is_done() && bytes.size() - used > limits.headerBytes)
      refuse(431, "chunk header or trailers too large");
  }
  if (refusal().status != 0)
    return Progress::Refused;
  return reader->is_done() ? Progress::Complete : Progress::NeedMore;
}

/// Returns the length of the empty lines before a request, which some clients
/// send after a body (RFC 9112, 2.2).
size_t RequestParser::emptyLines(std::string_view bytes) const {
  size_t end = 0;
  while (scanned == 0 && bytes.substr(end, 2) == "\r\n")
    end += 2;
  return end;
}

/// Returns where the header ends, or 0 if its end has not come. Checks each
/// byte once. Refuses folded lines, which Beast would take, and errors that
/// Beast would notice only at the end, so that a client of another protocol is
/// told at once.
size_t RequestParser::findHeaderEnd(std::string_view bytes) {
  if (scanned == 0 && bytes == "\r")
    return 0; // may be an empty line
  for (; scanned < bytes.size(); ++scanned) {
    if (scanned == limits.headerBytes) {
      refuse(431, "header of more than " + std::to_string(limits.headerBytes) +
                      " bytes");
      return 0;
    }
    auto c = static_cast<unsigned char>(bytes[scanned]);
    char before = scanned == 0 ? '\0' : bytes[scanned - 1];
    if ((c == '\n') != (before == '\r')) {
      refuse(400, "malformed request: a line does not end with CR LF");
      return 0;
    }
    if ((c == ' ' || c == '\t') && (before == '\n' || scanned == 0)) {
      refuse(400, "malformed request: a line begins with a space");
      return 0;
    }
    if ((c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f) {
      refuse(400, "malformed request: control character");
      return 0;
    }
    if (c == '\n' && scanned >= 3 && bytes[scanned - 2] == '\n')
      return ++scanned;
  }
  return 0;
}

/// Returns whether the first line of `bytes` ends with another version of HTTP.
static bool hasOtherVersion(std::string_view bytes) {
  std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  size_t space = line.find_last_of(' ');
  if (space == line.npos)
    return false;
  std::string_view version = line.substr(space + 1);
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  return version.size() == 8 && version.starts_with("HTTP/") &&
         isDigit(version[5]) && version[6] == '.' && isDigit(version[7]);
}

void RequestParser::put(std::string_view bytes, size_t &consumed) {
  beast::error_code ec;
  consumed = reader->put({bytes.data(), bytes.size()}, ec);
  if (!ec || ec == error::need_more)
    return;
  if (ec == error::body_limit)
    refuse(413,
           "body of more than " + std::to_string(limits.bodyBytes) + " bytes");
  else if (ec == error::header_limit)
    refuse(431, "trailers too large");
  else if (ec == error::bad_version && hasOtherVersion(bytes))
    refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  else
    refuse(400, "malformed request: " + ec.message());
}
