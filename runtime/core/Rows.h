//===- Rows.h - rows and the frames that carry them -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is one token of one request at one position. The rows of a request form
// a tree: each row is a node of the tree and names its parent, the row of the
// token before it. The head numbers a request's nodes in the order in which it
// first sends them to any stage, so a parent's number is below its children's
// numbers. The next request in the same slot continues the numbering, so a
// message that arrives late cannot be taken for a message about that request.
//
// A row is certain (its token is known) or speculative (its token is guessed).
// A certain row dies only when its request ends. A speculative row lives while
// it is the request's last confirmed node or descends from it, because then a
// pending result can still confirm it. A dead row never lives again, because
// each confirmed node descends from the confirmed node before it. A speculative
// ancestor of the last confirmed node counts as dead too, which is harmless:
// that row left the last stage before the node could be confirmed.
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

/// A request's slot, its index in every table. Slots are reused.
using RequestId = int32_t;
/// Identifies a request from its submission on. Numbers are never reused; later
/// requests have higher numbers.
using RequestNumber = int64_t;
/// The number of a row within its request, given by the head; see above.
using NodeId = int64_t;
/// The parent of a request's first row.
constexpr NodeId noNode = -1;

/// How many rows a step has at most, and so how long the chunks of prompts are,
/// unless a user says otherwise.
constexpr int64_t defaultStepRows = 512;

/// Time since an arbitrary start. The deciding code reads no clock: callers
/// pass the time in.
using Time = std::chrono::nanoseconds;
/// Identifies a tenant, whose requests share what the tenant may have.
using TenantNumber = uint64_t;

/// One token of one request on its way through the stages. 32 bytes.
struct Row {
  NodeId node = 0;
  NodeId parent = noNode;
  RequestId request = 0;
  int32_t position = 0;
  int32_t token = 0;
  bool certain = false;
  /// Whether the row has an output: a token from the last stage, or candidates
  /// from the draft.
  bool wantsOutput = false;
};

/// Says which node of a request the head has confirmed last. Of two marks, the
/// one with the higher `confirmed` is newer, in whatever order they arrive.
struct EpochMark {
  RequestId request = 0;
  /// Advances whenever rows in flight die. It is for people and traces only.
  int32_t epoch = 0;
  NodeId confirmed = noNode;
  /// The request has ended and `confirmed` is its last node: every row with a
  /// number up to `confirmed` is dead, also a certain one.
  bool ended = false;
};

/// The grammar that the text after a prompt must match, as source: each rank
/// that needs the grammar compiles it. Copies share the immutable text, because
/// one request can have many choices and a schema can be long.
class GrammarSource {
public:
  enum class Kind : uint8_t {
    None,       ///< any text
    JsonObject, ///< any JSON object
    JsonSchema, ///< JSON that matches the schema in text()
    Gbnf        ///< text that matches the GBNF grammar in text()
  };
  /// The largest size of the text, in bytes. A frame with a longer text is
  /// invalid.
  static constexpr size_t maxBytes = size_t{1} << 20;

  GrammarSource() = default;
  GrammarSource(Kind kind, std::string text);

  const std::string &text() const;
  bool operator==(const GrammarSource &other) const;

  Kind kind = Kind::None;
  /// Only requests of the same scope share what is made of the source, so that
  /// its time tells nobody else that it was made before.
  uint64_t scope = 0;

private:
  std::shared_ptr<const std::string> shared; ///< null if there is no text
};

/// The head's number for a page of the cache that requests can share. Such a
/// page is full, and all stages have computed its rows. The number says nothing
/// about which of its own pages a stage uses for it.
using SharedPage = int32_t;

/// What the stages must know about a request before its first row.
struct OpenRequest {
  RequestId request = 0;
  NodeId firstNode = 0;
  int32_t promptTokens = 0;
  /// The tokens that are known when the request opens: the prompt and, if the
  /// request resumes after a preemption, the tokens that it had generated.
  /// Their rows are computed in chunks.
  int32_t knownTokens = 0;
  /// How many log-probabilities to report with each token; -1 for no report.
  int32_t logProbabilities = -1;
  SamplingParams sampling;
  GrammarSource grammar;   ///< for the text after the prompt
  TenantNumber tenant = 0; ///< whom the grammar's work is charged to
  /// The shared pages that the request begins with, and the tokens in `prefix`
  /// that they hold; the request's rows begin after them. prefix.size() is
  /// prefixPages.size() * pageTokens and below knownTokens. The prefix has node
  /// numbers as if its rows had been sent.
  std::vector<SharedPage> prefixPages;
  std::vector<int32_t> prefix;
  /// The prompt's tokens if their log-probabilities are asked for; else empty.
  /// A row of the prompt that wants an output is then answered with the token
  /// that follows it here, and with the report on that token.
  std::vector<int32_t> scored;
};

/// Orders the stages to pin a page of a request: the page with the positions
/// from `index` * pageTokens on, on the request's path to `node`. Stages then
/// hold the page under the number `page`, also after the request has closed.
/// All stages have computed `node`.
struct PinPage {
  RequestId request = 0;
  NodeId node = 0;
  int32_t index = 0;
  SharedPage page = 0;
};

/// What one stage did in the step that produced a frame.
struct StageTiming {
  int32_t rows = 0;      ///< in the step at its start
  int32_t departed = 0;  ///< rows that left the step at checkpoints
  int64_t busyNanos = 0; ///< time spent computing
  int64_t idleNanos = 0; ///< time spent waiting for work before the step
};

/// The message from the head to the first stage and from each stage to the
/// next: one frame for each step and hop. A stage carries out its parts in this
/// order: unpin, open, mark, admit rows, pin, close. A frame without orders and
/// rows is a tombstone: all of the step's rows have died on the way.
struct StepFrame {
  uint64_t step = 0; ///< the number of the frame among its sender's frames
  /// How many frames of the head have been taken in completely up to this step.
  /// In a frame from the head, this frame counts too.
  uint64_t launched = 0;
  std::vector<SharedPage> unpins; ///< the pinned pages to release
  std::vector<OpenRequest> opens;
  std::vector<EpochMark> marks; ///< one for each request that has rows here
  std::vector<Row> rows; ///< in any order; the receiver sorts them by node
  std::vector<PinPage> pins;
  std::vector<RequestId> closes;
  std::vector<StageTiming> timings; ///< one for each stage passed

  bool isTombstone() const {
    return unpins.empty() && opens.empty() && rows.empty() && pins.empty() &&
           closes.empty();
  }
  /// Sorts the rows by request, and those of a request by node.
  void sortRows();
  void clear();
};

/// The last stage's answer to one row.
struct ResultRow {
  NodeId node = 0;
  RequestId request = 0;
  /// The token after the row: chosen, or for a scored row the prompt's.
  int32_t token = 0;
  /// The report on the token itself first, then on the most probable tokens;
  /// empty unless log-probabilities are asked for.
  std::vector<TokenLogProbability> report;
  /// Why there is no token; empty if there is a token. The error concerns this
  /// request only.
  std::string error = {};
  /// Set with an error if the model's logits are not finite, which is no fault
  /// of the request.
  bool isNotFinite = false;
};

/// The message from the last stage to the head: one for each of that stage's
/// steps, and further ones for late results.
struct ResultFrame {
  uint64_t step = 0;     ///< the number of the frame among its sender's frames
  uint64_t launched = 0; ///< as in StepFrame
  /// The results of each request are in ascending order of node.
  std::vector<ResultRow> results;
  /// Empty if the results are late: the stage has executed further steps since.
  std::vector<StageTiming> timings;

  bool isLate() const { return timings.empty(); }
};

/// A token that the draft proposes to follow a row, and its confidence.
struct Candidate {
  int32_t token = 0;
  float confidence = 0; ///< in [0, 1]
};

/// The draft's answer to one row, likeliest candidate first.
struct GuessRow {
  NodeId node = 0;
  RequestId request = 0;
  std::vector<Candidate> candidates;
};

/// The message from the draft to the head: one for each frame that the draft
/// was given, also if all rows of that frame have died.
struct GuessFrame {
  uint64_t step = 0; ///< the number of the frame that it answers
  std::vector<GuessRow> guesses;
  StageTiming timing;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_CORE_ROWS_H
