//===- RenderLimits.h - how much a chat template may do -----------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_RENDERLIMITS_H
#define SLUICE_RUNTIME_TEXT_JINJA_RENDERLIMITS_H

#include <cstddef>

namespace sluice::text {

/// What one rendering may use. A template comes with a model file and its
/// input from a request, so neither may decide how long rendering takes.
struct RenderLimits {
  /// Length of the prompt.
  size_t outputBytes = size_t(16) << 20;
  /// Expressions evaluated, items visited, 64-byte pieces of text gone through.
  /// Most templates evaluate some hundred expressions a message. Some look for
  /// a call of a tool by its id, from each result through all messages: 2,000
  /// messages of which a quarter are results take them 10 to 15 million. As
  /// many as there may be take some seconds.
  size_t steps = 40'000'000;
  /// All values made on the way, whether still in use or not.
  size_t valueBytes = size_t(256) << 20;
};

} // namespace sluice::text

#endif // SLUICE_RUNTIME_TEXT_JINJA_RENDERLIMITS_H
