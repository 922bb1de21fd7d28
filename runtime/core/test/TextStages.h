//===- TextStages.h - stages for tests without guesses --------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages in virtual time, for tests of plain schedules without guesses and
// links. Each stage takes everything in its mailbox as one step. The token
// after a text is a hash of the text, so any schedule must give the same
// tokens. The stages also check what they rely on: rows come in order and have
// the right tokens; pages are pinned once, only after they were computed, and
// unpinned only while pinned; and there are never more pages than the cache
// has.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_TEXTSTAGES_H
#define SLUICE_RUNTIME_CORE_TEST_TEXTSTAGES_H

#include "runtime/core/Head.h"

#include <map>
#include <set>

namespace sluice::test {

using Text = std::vector<int32_t>;

/// The time of a step by its rows and the sum of their positions.
struct LineTimes {
  Time base{std::chrono::milliseconds(10)};
  Time perRow{0};
  Time perPosition{0};
  Time step(int64_t rows, int64_t positions = 0) const {
    return base + perRow * (rows - 1) + perPosition * positions;
  }
  /// Returns the times that the head is told.
  PipelineTimes predicted() const;
};

class TextStages {
public:
  TextStages(const HeadLimits &limits, LineTimes times);

  /// Returns the token after a text.
  static int32_t next(std::span<const int32_t> text);
  /// Returns the first `count` tokens after a prompt.
  static Text output(Text prompt, int64_t count);
  /// Returns the score that is reported for a prompt's token at `position`.
  static double scoreAt(int64_t position) {
    return -static_cast<double>(position);
  }

  /// Moves the frames of the head's commands to the first stage's mailbox.
  void take(HeadCommands &commands, Time now);
  /// Returns when the next step ends; nothing if no step runs.
  std::optional<Time> ends() const;
  /// Ends the steps that end by `now`, and returns the answers of the last
  /// stage.
  std::vector<ResultFrame> advance(Time now);

  /// A frame that arrived, and when.
  struct Arrived {
    Time at{0};
    StepFrame frame;
    int64_t generated = 0; ///< rows after the known tokens of their requests
    int64_t known = 0;     ///< rows of known tokens
    int64_t positions = 0; ///< the sum over all rows
  };
  const std::vector<Arrived> &arrived() const { return log; }
  /// Returns the rules that were broken; empty if none.
  const std::vector<std::string> &broken() const { return failures; }
  int64_t openRequests() const;
  int64_t pinnedPages() const { return std::ssize(pinned); }
  int64_t maxPages() const { return pagesPeak; }
  /// Returns the most rows of a step that had prompt rows and other rows.
  int64_t maxMixedRows() const { return mixedRowsPeak; }

private:
  struct Slot {
    bool isOpen = false;
    NodeId firstNode = 0, computed = noNode; ///< by all stages
    int64_t known = 0;
    Text text;
    Text scored; ///< as in OpenRequest
    std::vector<int64_t> pages;
  };
  struct Pinned {
    Text text; ///< from its start to the end of the page
    int64_t page = 0;
  };
  struct Work {
    int64_t rows = 0;
    int64_t known = 0; ///< of these, rows of known tokens
    int64_t positions = 0;
    std::vector<std::pair<RequestId, NodeId>> nodes; ///< of the rows
    ResultFrame answer;
  };
  struct Stage {
    std::vector<Work> mailbox;
    std::optional<Work> step;
    Time end{0};
  };

  void check(bool holds, const char *what);
  void accept(const StepFrame &frame, Work &work);
  void open(const OpenRequest &request);
  void accept(const Row &row, Work &work);
  void pin(const PinPage &order);
  void countPages();
  void begin(Stage &stage, Time now);

  HeadLimits limits;
  LineTimes times;
  std::vector<Stage> stages;
  std::vector<Slot> slots;
  std::map<SharedPage, Pinned> pinned;
  std::set<uint64_t> chunks; ///< frames under way that have prompt rows
  int64_t nextPage = 0, pagesPeak = 0, mixedRowsPeak = 0;
  std::vector<Arrived> log;
  std::vector<std::string> failures;
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_TEXTSTAGES_H
