//===- Recorder.h - a handler that records, for tests ---------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_HTTP_CLIENT_TEST_RECORDER_H
#define SLUICE_RUNTIME_HTTP_CLIENT_TEST_RECORDER_H

#include "runtime/http/client/Client.h"

#include <functional>
#include <optional>

namespace sluice::http::test {

struct Record {
  int heads = 0;
  int status = 0;
  std::string type; ///< Content-Type
  std::string body;
  std::vector<TimePoint> pieces; ///< when each piece was read
  int ends = 0;
  std::optional<Failure> failure;
  bool destroyed = false;

  bool isOver() const { return ends > 0 || failure; }
};

/// Records its calls in a Record, which must outlive it.
class Recorder : public ResponseHandler {
public:
  explicit Recorder(Record &record, std::function<void()> onPiece = {})
      : record(record), onPiece(std::move(onPiece)) {}
  ~Recorder() override { record.destroyed = true; }

  void onHead(const ResponseHead &head, TimePoint) override {
    ++record.heads;
    record.status = head.status;
    record.type = head.field("content-type");
  }
  void onBody(std::string_view piece, TimePoint at) override {
    record.body += piece;
    record.pieces.push_back(at);
    if (onPiece)
      onPiece();
  }
  void onEnd(TimePoint) override { ++record.ends; }
  void onFailure(const Failure &failure, TimePoint) override {
    record.failure = failure;
  }

private:
  Record &record;
  std::function<void()> onPiece;
};

/// Runs the client until `done`, for at most 10 s. Returns whether it was done.
inline bool runUntil(Client &client, const std::function<bool()> &done) {
  using std::chrono::steady_clock;
  TimePoint limit = steady_clock::now() + std::chrono::seconds(10);
  while (!done() && steady_clock::now() < limit)
    client.run(steady_clock::now() + std::chrono::milliseconds(20));
  return done();
}

} // namespace sluice::http::test

#endif // SLUICE_RUNTIME_HTTP_CLIENT_TEST_RECORDER_H
