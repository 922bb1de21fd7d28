//===- SseParser.cpp - an incremental parser of server-sent events --------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/SseParser.h"

#include <algorithm>
#include <utility>

using namespace sluice;
using namespace sluice::http;

static constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

/// Returns whether a line of `bytes` bytes is too long; sets the error.
bool SseParser::exceeds(size_t bytes) {
  if (bytes > maxBytes)
    failed = failure("event stream: a line or event has more than ", maxBytes,
                     " bytes");
  return !failed.ok();
}

void SseParser::takeField(std::string_view field, std::string_view value) {
  if (field == "event") {
    name = value;
  } else if (field == "data" && !exceeds(data.size() + value.size())) {
    data += value;
    data += '\n';
  }
}

void SseParser::endLine(std::string_view line,
                        const std::function<void(const SseEvent &)> &onEvent) {
  if (atStart && line.starts_with(byteOrderMark))
    line.remove_prefix(byteOrderMark.size());
  atStart = false;
  if (line.empty()) {
    if (!data.empty())
      onEvent({name, std::string_view(data).substr(0, data.size() - 1)});
    data.clear();
    name.clear();
    return;
  }
  size_t colon = std::min(line.find(':'), line.size());
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' '))
    value.remove_prefix(1);
  // A comment is a field with an empty name, which is ignored.
  takeField(line.substr(0, colon), value);
}

Status SseParser::feed(std::string_view piece,
                       const std::function<void(const SseEvent &)> &onEvent) {
  while (failed.ok() && !piece.empty()) {
    if (std::exchange(afterReturn, false) && piece.front() == '\n') {
      piece.remove_prefix(1);
      continue;
    }
    size_t end = std::min(piece.find_first_of("\r\n"), piece.size());
    if (exceeds(partial.size() + end))
      break;
    if (end == piece.size()) {
      partial += piece;
      break;
    }
    afterReturn = piece[end] == '\r';
    // A line that is whole within the piece is not copied.
    if (partial.empty()) {
      endLine(piece.substr(0, end), onEvent);
    } else {
      partial += piece.substr(0, end);
      endLine(partial, onEvent);
      partial.clear();
    }
    piece.remove_prefix(end + 1);
  }
  return failed;
}
