//===- Status.h - results of calls that can fail --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every fallible call of the project returns a Status or an Expected<T>. The
// message is one line that says what failed, where and why; it is shown to the
// user unchanged. No exception crosses an interface.
//
//   SLUICE_RETURN_IF_ERROR(checkPath(path));
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

  /// Returns an error. Control characters in `message` become '?': it often
  /// quotes names from untrusted files, and must stay one line and not control
  /// a terminal.
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

  /// Returns an error whose message needs no heap memory.
  static Status outOfMemory() noexcept { return error("out of memory"); }

  /// Returns the error with `prefix: ` put before its message, or success. If
  /// memory runs out, returns outOfMemory(), so that an error never becomes an
  /// exception.
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

/// Joins parts that can be streamed. If memory runs out, throws std::bad_alloc,
/// where a stream by itself would leave out the rest.
template <typename... Parts> std::string textFrom(const Parts &...parts) {
  std::ostringstream stream;
  stream.exceptions(std::ios::badbit); // throws again what it has caught
  (stream << ... << parts);
  return stream.str();
}

/// Makes an error from parts that can be streamed:
///   return failure("tensor '", name, "': ", count, " rows is too many");
/// If memory runs out, returns outOfMemory(), so that an error never becomes an
/// exception.
template <typename... Parts> Status failure(const Parts &...parts) noexcept {
  try {
    return Status::error(textFrom(parts...));
  } catch (const std::bad_alloc &) {
    return Status::outOfMemory();
  }
}

/// A value, or the error why there is none. Both convert to it implicitly.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : held(std::move(value)) {}
  Expected(Status error) : failed(std::move(error)) {
    assert(!failed.ok() && "an Expected without a value needs an error");
  }

  bool ok() const { return held.has_value(); }
  explicit operator bool() const { return ok(); }

  /// Returns the error, or success if there is a value.
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

/// Returns the error of an expression of type Status from the function around
/// it, which returns a Status or an Expected.
#define SLUICE_RETURN_IF_ERROR(...)                                            \
  do {                                                                         \
    if (::sluice::Status sluiceStatus = (__VA_ARGS__); !sluiceStatus.ok())     \
      return sluiceStatus;                                                     \
  } while (false)

#endif // SLUICE_RUNTIME_BASE_STATUS_H
