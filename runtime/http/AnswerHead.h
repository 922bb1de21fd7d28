//===- AnswerHead.h - the status line and fields of an answer -------------===//
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
  NoBody,  ///< the status or the method says so
};

struct AnswerHead {
  int status = 200;
  const Fields &fields;
  BodyEnd end = BodyEnd::Length;
  size_t length = 0; ///< of the body; for BodyEnd::Length
  bool closes = false;
  /// The client speaks HTTP/1.0, so it must be told if the connection stays
  /// open.
  bool isHttp10 = false;
};

/// Returns whether answers with this status never have a body.
bool isBodiless(int status);

/// Appends the status line and the fields, up to the empty line. Leaves out the
/// fields that Exchange::reply() leaves out; the others cannot break the
/// framing.
void appendHead(std::string &out, const AnswerHead &head, std::time_t now);

} // namespace sluice::http::server

#endif // SLUICE_RUNTIME_HTTP_ANSWERHEAD_H
