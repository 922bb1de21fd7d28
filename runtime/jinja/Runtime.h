//===- Runtime.h - state and limits of one rendering ----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_JINJA_RUNTIME_H
#define SLUICE_RUNTIME_JINJA_RUNTIME_H

#include "runtime/jinja/RenderLimits.h"
#include "runtime/jinja/TemplateError.h"
#include "runtime/jinja/Value.h"

#include <ctime>
#include <deque>

namespace sluice::text::jinja {

/// The state of one rendering: counts the resources it uses, creates its
/// values, and knows the current position in the template for errors.
class Runtime {
public:
  Runtime(const RenderLimits &limits, std::time_t now)
      : limits(limits), now(now) {}

  const RenderLimits limits;
  const std::time_t now; ///< for strftime_now
  Position at;           ///< of the expression that is being evaluated

  template <typename... Parts>
  [[noreturn]] void fail(const Parts &...parts) const {
    failAt(at, parts...);
  }

  /// Counts work that makes no value. Fails at the limit.
  void step(size_t count = 1);
  /// Counts a search for `pattern` in `text` at its worst, where each place of
  /// the text is compared with most of the pattern.
  void stepSearch(std::string_view text, std::string_view pattern);
  /// Counts the bytes of values before they are made. Fails at the limit.
  void charge(size_t bytes);

  /// Make values, whose bytes are counted.
  Value string(std::string text);
  Value markup(std::string text);
  /// Makes a string that is Markup if `model` is.
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

#endif // SLUICE_RUNTIME_JINJA_RUNTIME_H
