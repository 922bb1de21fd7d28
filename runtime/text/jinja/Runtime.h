//===- Runtime.h - what one rendering owns and may still use ------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_TEXT_JINJA_RUNTIME_H
#define SLUICE_RUNTIME_TEXT_JINJA_RUNTIME_H

#include "runtime/text/jinja/RenderLimits.h"
#include "runtime/text/jinja/TemplateError.h"
#include "runtime/text/jinja/Value.h"

#include <ctime>
#include <deque>

namespace sluice::text::jinja {

/// Goes through all that a rendering evaluates: counts what it uses, makes its
/// values, and knows which place of the template an error is at.
class Runtime {
public:
  Runtime(const RenderLimits &limits, std::time_t now)
      : limits(limits), now(now) {}

  const RenderLimits limits;
  const std::time_t now; ///< for strftime_now
  Position at;           ///< of what is being evaluated

  template <typename... Parts>
  [[noreturn]] void fail(const Parts &...parts) const {
    failAt(at, parts...);
  }

  /// Counts work that makes nothing. Fails at the limit.
  void step(size_t count = 1);
  /// Counts a search of `pattern` in `text`, at its worst: each place of the
  /// text is compared with most of the pattern.
  void stepSearch(std::string_view text, std::string_view pattern);
  /// Counts bytes of values, before they are made. Fails at the limit.
  void charge(size_t bytes);

  /// Values that are counted.
  Value string(std::string text);
  Value markup(std::string text);
  /// A string that is as safe as `model`: Markup if that is.
  Value stringLike(const Value &model, std::string text);
  Value list(std::vector<Value> items, List::Form form = List::Form::List);
  Value dict(Dict dict);
  Value iterator(std::vector<Value> items);
  Value makeNamespace();

private:
  void chargeText(const std::string &text);
  std::shared_ptr<const List> share(std::vector<Value> items, List::Form form);

  size_t steps = 0;
  size_t bytes = 0;
  std::deque<Namespace> namespaces;
};

} // namespace sluice::text::jinja

#endif // SLUICE_RUNTIME_TEXT_JINJA_RUNTIME_H
