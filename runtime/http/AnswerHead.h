//===- AnswerHead.h - the first lines of an answer ------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_ANSWERHEAD_H
#define SLUICE_RUNTIME_HTTP_ANSWERHEAD_H

#include "runtime/http/HttpRequest.h"

#include <cstddef>
#include <ctime>

namespace sluice::http::server {

/// How the client finds the end of the body.
enum class BodyEnd {
  Length,  ///< Content-Length
  Chunks,  ///< Transfer-Encoding: chunked
  Closing, ///< the connection closes
  NoBody,  ///< by the status
};

struct AnswerHead {
  int status = 200;
  const Fields &fields;
  BodyEnd end = BodyEnd::Length;
  size_t length = 0; ///< of the body, for BodyEnd::Length
  bool closes = false;
  /// Of the request: such a client must be told that the connection stays.
  bool isHttp10 = false;
};

/// Whether answers of that status never have a body.
bool isBodiless(int status);

/// Appends status line and fields, up to the empty line. Leaves out fields as
/// Exchange::reply() says; what the others hold cannot break the framing.
void appendHead(std::string &out, const AnswerHead &head, std::time_t now);

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_ANSWERHEAD_H
