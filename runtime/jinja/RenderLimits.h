//===- RenderLimits.h - limits of rendering a chat template ---------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_RENDERLIMITS_H
#define SLUICE_RUNTIME_JINJA_RENDERLIMITS_H

#include "runtime/base/WorkMeter.h"

#include <cstddef>

namespace sluice::text {

/// Limits one rendering. A template comes with a model file and its input with
/// a request, so neither may decide how long rendering takes.
struct RenderLimits {
  /// The length of the prompt.
  size_t outputBytes = size_t(16) << 20;
  /// Expressions evaluated, items visited, and 64-byte pieces of text read.
  /// Most templates evaluate some hundred expressions for each message. Some
  /// look for a tool call by its id, from each result through all messages: for
  /// 2,000 messages of which a quarter are results, that takes them 10 to 15
  /// million steps. The limit allows some seconds of work.
  size_t steps = 40'000'000;
  /// The bytes of all values that are made, whether still in use or not.
  size_t valueBytes = size_t(256) << 20;
  /// If set, is charged with the steps, and so can end the rendering because it
  /// takes too long or is not needed any more. Must outlive the rendering.
  WorkMeter *meter = nullptr;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_JINJA_RENDERLIMITS_H
