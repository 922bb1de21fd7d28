//===- Rows.h - rows, and the frames they travel in -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is one token of one request at one position. What a request has tried
// is a tree: each row is a node of it and names its parent, the row of the
// token before. The head numbers a request's nodes in the order in which it
// first sends them anywhere, so that a parent's number is below its children's;
// numbers go on when a request's slot is used again, so that nothing late can
// be taken for another request's.
//
// A row is certain (its token is known) or speculative (its token is guessed).
// A certain row dies only when its request ends. A speculative one lives while
// it is the request's last confirmed node or descends from it: then an answer
// that is still to come can make it true. Death is for ever, because each
// confirmed node descends from the one before; and a row that is an ancestor of
// the last confirmed node has left the last stage before that node could be
// confirmed.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_ROWS_H
#define SLUICE_RUNTIME_CORE_ROWS_H

#include "runtime/core/LogProbabilities.h"
#include "runtime/core/SamplingParams.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// A request's slot in every table; used again after the request has ended.
using RequestId = int32_t;
/// A row of a request, numbered by the head; see above.
using NodeId = int64_t;
/// The parent of a request's first row.
constexpr NodeId noNode = -1;

/// Time since an arbitrary start. The deciding code is told what time it is.
using Time = std::chrono::nanoseconds;

/// One token of one request on its way through the stages. 32 bytes.
struct Row {
  NodeId node = 0;
  NodeId parent = noNode;
  RequestId request = 0;
  int32_t position = 0;
  int32_t token = 0;
  bool certain = false;
  /// Whether the last stage answers it: with a token, or on the draft's rank
  /// with candidates.
  bool wantsOutput = false;
};

/// What the head has confirmed of a request. The mark with the higher
/// `confirmed` is the newer one, whatever the order in which they arrive.
struct EpochMark {
  RequestId request = 0;
  /// Advances whenever rows in flight have died; for people and traces.
  int32_t epoch = 0;
  NodeId confirmed = noNode;
  /// The request is over and `confirmed` its last node: every row numbered up
  /// to it is dead, certain ones as well.
  bool ended = false;
};

/// What the text that follows a prompt must be. As source: each rank that needs
/// it compiles it. Copies share the text, which is never changed: a request can
/// have many choices, and a schema can be long.
class GrammarSource {
public:
  enum class Kind : uint8_t {
    None,       ///< any text
    JsonObject, ///< any JSON object
    JsonSchema, ///< JSON that a schema describes, which is text()
    Gbnf        ///< what a grammar describes, which is text()
  };
  /// Of the text, at most: no frame takes more.
  static constexpr size_t maxBytes = size_t{1} << 20;

  GrammarSource() = default;
  GrammarSource(Kind kind, std::string text);

  const std::string &text() const;
  bool operator==(const GrammarSource &other) const;

  Kind kind = Kind::None;

private:
  std::shared_ptr<const std::string> shared; ///< null: no text
};

/// A page of the cache that requests can share, named by the head: full, of a
/// path that all stages have computed. What it is called here says nothing of
/// where a stage has it.
using SharedPage = int32_t;

/// What the stages must know of a request before its first row.
struct OpenRequest {
  RequestId request = 0;
  NodeId firstNode = 0;
  int32_t promptTokens = 0;
  /// Tokens that are known when the request opens: the prompt, and where the
  /// request goes on after a preemption what it had generated. Rows of these
  /// are computed in chunks, as a prompt is.
  int32_t knownTokens = 0;
  /// How many log-probabilities to report with each token; -1: none.
  int32_t logProbabilities = -1;
  SamplingParams sampling;
  GrammarSource grammar; ///< of what follows the prompt
  /// The request begins with these pages, which hold `prefix`: its rows begin
  /// behind them. prefix.size() is prefixPages.size() * pageTokens, and below
  /// knownTokens. Nodes are numbered as if the rows had come.
  std::vector<SharedPage> prefixPages;
  std::vector<int32_t> prefix;
  /// The prompt's tokens, where their log-probabilities are asked for; else
  /// empty. A row of the prompt that wants an output is answered with the token
  /// that follows it here and the report on that one.
  std::vector<int32_t> scored;
};

/// From now on the stages hold the page with positions from `index` *
/// pageTokens on of the request's path to `node`, also after the request has
/// closed, and know it as `page`. All stages have computed `node`.
struct PinPage {
  RequestId request = 0;
  NodeId node = 0;
  int32_t index = 0;
  SharedPage page = 0;
};

/// What a stage did in the step that a frame comes from.
struct StageTiming {
  int32_t rows = 0;      ///< at the step's start
  int32_t departed = 0;  ///< rows that left it at checkpoints
  int64_t busyNanos = 0; ///< computing
  int64_t idleNanos = 0; ///< waiting for work before it
};

/// What goes from the head to the first stage and from stage to stage: one for
/// each step and hop. Stages do what it says in this order: unpin, open, mark,
/// admit rows, pin, close. Without any of these it is a tombstone: all of the
/// step's rows have died on the way.
struct StepFrame {
  uint64_t step = 0; ///< the sender's count of its frames
  /// Frames of the head that have been taken in whole, up to this step; from
  /// the head: this one and all before it.
  uint64_t launched = 0;
  std::vector<SharedPage> unpins; ///< pinned pages to let go of
  std::vector<OpenRequest> opens;
  std::vector<EpochMark> marks; ///< one for each request that has rows here
  std::vector<Row> rows; ///< in any order; who takes them sorts them by node
  std::vector<PinPage> pins;
  std::vector<RequestId> closes;
  std::vector<StageTiming> timings; ///< one for each stage passed

  bool isTombstone() const {
    return unpins.empty() && opens.empty() && rows.empty() && pins.empty() &&
           closes.empty();
  }
  void clear();
};

/// The last stage's answer to one row.
struct ResultRow {
  NodeId node = 0;
  RequestId request = 0;
  int32_t token = 0; ///< that follows the row's; of a scored one the prompt's
  /// The token itself first, then the most probable ones; empty unless asked.
  std::vector<TokenLogProbability> report;
  /// Why there is no token, which is this request's own; empty: there is one.
  std::string error = {};
  /// With an error: the model's logits are not finite, whoever asks for them.
  bool isNotFinite = false;
};

/// What the last stage sends to the head: one for each of its steps, and late
/// ones beside them.
struct ResultFrame {
  uint64_t step = 0;              ///< the sender's count of its frames
  uint64_t launched = 0;          ///< as StepFrame's
  std::vector<ResultRow> results; ///< of a request in ascending order of node
  /// Empty: the results are late. Steps have gone on without them.
  std::vector<StageTiming> timings;

  bool isLate() const { return timings.empty(); }
};

/// A token that the draft thinks may follow, and how sure it is.
struct Candidate {
  int32_t token = 0;
  float confidence = 0; ///< in [0, 1]
};

/// The draft's answer to one row: likeliest first.
struct GuessRow {
  NodeId node = 0;
  RequestId request = 0;
  std::vector<Candidate> candidates;
};

/// What the draft sends to the head: one for each frame that it was given, also
/// where all rows of it have died.
struct GuessFrame {
  uint64_t step = 0; ///< that of the frame it answers
  std::vector<GuessRow> guesses;
  StageTiming timing;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_ROWS_H
