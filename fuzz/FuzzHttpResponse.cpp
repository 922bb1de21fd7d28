//===- FuzzHttpResponse.cpp - fuzzes the reader of HTTP answers ----------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/client/ResponseReader.h"

#include <algorithm>
#include <cstdlib>

using namespace sluice;
using namespace sluice::http;
using namespace sluice::http::client;

namespace {

constexpr size_t maxHeaderBytes = 512;
constexpr uint64_t maxBodyBytes = 256;

/// Keeps what is read, and sees that it comes in order and within the limits.
struct Answer final : ResponseSink {
  int status = 0;
  HeaderFields fields;
  std::string body;
  std::optional<FailureKind> failed;

  void onHead(const ResponseHead &head) override {
    if (status != 0 || head.status < 200)
      std::abort();
    status = head.status;
    fields = head.fields;
  }
  void onBody(std::string_view piece) override {
    body += piece;
    if (status == 0 || body.size() > maxBodyBytes)
      std::abort();
  }

  /// Of two that are whole. Where one is refused, what of it was read before
  /// depends on how it was cut, and so does the reason where there are several.
  bool isSame(const Answer &other) const {
    return status == other.status && fields == other.fields &&
           body == other.body;
  }
};

/// Reads pieces of `size` bytes until the answer is whole, then the end of the
/// connection.
Answer read(std::string_view bytes, size_t size) {
  ResponseReader reader(maxHeaderBytes, maxBodyBytes);
  Answer answer;
  auto note = [&](const std::optional<Failure> &failure) {
    if (!failure)
      return;
    if (failure->message.find('\n') != std::string::npos)
      std::abort();
    answer.failed = failure->kind;
  };
  for (size_t at = 0;
       at < bytes.size() && !answer.failed && !reader.isComplete(); at += size)
    note(reader.feed(bytes.substr(at, size), answer));
  if (!answer.failed)
    note(reader.feedEnd());
  return answer;
}

} // namespace

/// Any bytes are refused, or are one answer, however they are cut. A limit may
/// be met earlier where less has come at once.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  Answer whole = read(bytes, std::max<size_t>(1, size));
  for (size_t piece : {1, 3, 61}) {
    Answer cut = read(bytes, piece);
    bool isLimited = whole.failed == FailureKind::TooLarge ||
                     cut.failed == FailureKind::TooLarge;
    if (isLimited)
      continue;
    if (cut.failed.has_value() != whole.failed.has_value() ||
        (!cut.failed && !cut.isSame(whole)))
      std::abort();
  }
  return 0;
}
