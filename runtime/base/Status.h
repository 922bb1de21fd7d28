//===- Status.h - results of calls that can fail --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every fallible call of the project returns a Status or an Expected<T>. The
// message is one line that says what failed, where, and why; whoever reaches
// the user prints it as it is. No exception crosses an interface.
//
//   Expected<MappedFile> file = MappedFile::open(path);
//   if (!file)
//     return file.status();
//
//===----------------------------------------------------------------------===//

#ifndef SLUICE_RUNTIME_BASE_STATUS_H
#define SLUICE_RUNTIME_BASE_STATUS_H

#include <cassert>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace sluice {

/// Success, or an error with a message. Thread-compatible.
class [[nodiscard]] Status {
public:
  /// Success.
  Status() = default;

  /// `message` often quotes names from files that nobody vouches for: control
  /// characters in it become '?', so that it stays one line and steers no
  /// terminal.
  static Status error(std::string message) {
    for (char &c : message)
      if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
        c = '?';
    Status status;
    status.text = std::move(message);
    return status;
  }

  bool ok() const { return !text.has_value(); }

  /// The error's message; empty on success.
  const std::string &message() const {
    static const std::string none;
    return text ? *text : none;
  }

  /// An error whose message takes no memory, of which there is none.
  static Status outOfMemory() noexcept { return error("out of memory"); }

  /// The same error with `prefix: ` put before its message; success stays.
  /// Without memory for that it is outOfMemory(): an error never becomes an
  /// exception on its way.
  Status withContext(std::string_view prefix) const noexcept {
    try {
      return ok() ? *this : error(std::string(prefix) + ": " + *text);
    } catch (const std::bad_alloc &) {
      return outOfMemory();
    }
  }

private:
  std::optional<std::string> text;
};

/// Makes an error from parts that can be streamed:
///   return failure("tensor '", name, "': ", count, " rows is too many");
template <typename... Parts> Status failure(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return Status::error(stream.str());
}

/// A value, or the error that stood in its way. Converts implicitly from both.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : held(std::move(value)) {}
  Expected(Status error) : failed(std::move(error)) {
    assert(!failed.ok() && "an Expected without a value needs an error");
  }

  bool ok() const { return held.has_value(); }
  explicit operator bool() const { return ok(); }

  /// The error; success when there is a value.
  const Status &status() const { return failed; }

  T &operator*() { return *held; }
  const T &operator*() const { return *held; }
  T *operator->() { return &*held; }
  const T *operator->() const { return &*held; }

  /// Moves the value out.
  T take() { return std::move(*held); }

private:
  std::optional<T> held;
  Status failed;
};

} // namespace sluice

#endif // SLUICE_RUNTIME_BASE_STATUS_H
