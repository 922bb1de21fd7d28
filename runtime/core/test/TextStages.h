//===- TextStages.h - stages for tests of head and scheduler --------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages in virtual time, for tests of the plain schedule: no guesses, no
// links. Each stage takes all that is in its mailbox for one step. What follows
// a text is a hash of it, so that any schedule must give the same tokens. What
// the stages rely on is checked: rows in order and of the text as it is, pages
// pinned once, unpinned only where they are pinned, computed before they are
// pinned, and never more of them than the cache has.
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_CORE_TEST_TEXTSTAGES_H
#define SLUICE_RUNTIME_CORE_TEST_TEXTSTAGES_H

#include "runtime/core/Head.h"

#include <map>
#include <set>

namespace sluice::test {

using Text = std::vector<int32_t>;

/// What a step takes: by its rows, and by their positions, added up.
struct LineTimes {
  Time base{std::chrono::milliseconds(10)};
  Time perRow{0};
  Time perPosition{0};
  Time step(int64_t rows, int64_t positions = 0) const {
    return base + perRow * (rows - 1) + perPosition * positions;
  }
  /// What the head is told.
  PipelineTimes predicted() const;
};

class TextStages {
public:
  TextStages(const HeadLimits &limits, LineTimes times);

  /// What follows a text.
  static int32_t next(std::span<const int32_t> text);
  /// The first `count` tokens of what follows a prompt.
  static Text output(Text prompt, int64_t count);
  /// What is reported of the token of a prompt at `position`.
  static double scoreAt(int64_t position) {
    return -static_cast<double>(position);
  }

  /// Takes the frames of the head's commands to the first stage's mailbox.
  void take(HeadCommands &commands, Time now);
  /// When the next step ends; none: nothing runs.
  std::optional<Time> ends() const;
  /// Ends the steps that end by now; the answers of the last stage.
  std::vector<ResultFrame> advance(Time now);

  /// A frame that came, and when.
  struct Arrived {
    Time at{0};
    StepFrame frame;
    int64_t generated = 0; ///< rows behind what is known of their requests
    int64_t known = 0;     ///< rows of that
    int64_t positions = 0; ///< of all of them, added up
  };
  const std::vector<Arrived> &arrived() const { return log; }
  /// Rules that were broken; empty if none.
  const std::vector<std::string> &broken() const { return failures; }
  int64_t openRequests() const;
  int64_t pinnedPages() const { return std::ssize(pinned); }
  int64_t maxPages() const { return pagesPeak; }
  /// Of a step that had rows of prompts and others.
  int64_t maxMixedRows() const { return mixedRowsPeak; }

private:
  struct Slot {
    bool isOpen = false;
    NodeId firstNode = 0, computed = noNode; ///< by all stages
    int64_t known = 0;
    Text text;
    Text scored; ///< as OpenRequest
    std::vector<int64_t> pages;
  };
  struct Pinned {
    Text text; ///< from its start to the page's end
    int64_t page = 0;
  };
  struct Work {
    int64_t rows = 0;
    int64_t known = 0; ///< of them, those that are not behind it
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
  std::set<uint64_t> chunks; ///< frames with rows of prompts, under way
  int64_t nextPage = 0, pagesPeak = 0, mixedRowsPeak = 0;
  std::vector<Arrived> log;
  std::vector<std::string> failures;
};

} // namespace sluice::test

#endif // SLUICE_RUNTIME_CORE_TEST_TEXTSTAGES_H
