//===- TraceWriter.cpp - writes traces for Perfetto -----------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/trace/TraceWriter.h"

#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::trace;

namespace {

constexpr size_t bufferBytes = 1 << 16;
constexpr int valueCount = 4;

/// How an event of one kind is shown. Names of values that it does not have are
/// empty.
struct KindText {
  std::string_view name;
  std::array<std::string_view, valueCount> values;
};

constexpr std::array<KindText, kindCount> kindTexts = {{
    {"step", {"rows", "left", "step", ""}},
    {"checkpoint", {"left", "rows", "", ""}},
    {"message", {"to", "bytes", "rows", ""}},
    {"control", {"to", "bytes", "request", ""}},
    {"launch", {"request", "rows", "certain", "node"}},
    {"draft", {"request", "rows", "certain", "node"}},
    {"cancel", {"request", "epoch", "confirmed", ""}},
    {"cancel seen", {"request", "epoch", "confirmed", ""}},
    {"token", {"request", "token", "", ""}},
    {"finish", {"request", "reason", "", ""}},
    {"policy", {"request", "verdict", "depth", "rows in slot"}},
    {"guesses alive", {"guesses", "", "", ""}},
    {"frames at the door", {"frames", "", "", ""}},
    {"arrived", {"from", "kind", "request", "number"}},
    {"barriers", {"barriers", "layers", "wait ns", "longest wait ns"}},
    {"not finite", {"request", "node", "position", "place"}},
}};

const KindText &textOf(Kind kind) {
  return kindTexts[static_cast<size_t>(kind)];
}

/// Returns the name that a value stands for, or nothing.
std::string_view nameOfValue(Kind kind, int index, int64_t value) {
  if (kind == Kind::NotFinite && index == 3)
    return value == int64_t(RowPlace::ComesIn) ? "comes in" : "goes out";
  if (index != 1)
    return {};
  if (kind == Kind::Finish)
    return finishReasonName(static_cast<FinishReason>(value));
  if (kind == Kind::Policy)
    return verdictName(static_cast<Verdict>(value));
  return {};
}

std::string_view trackName(Track track) {
  switch (track) {
  case Track::Head:
    return "head";
  case Track::Draft:
    return "draft";
  case Track::Stage:
    return "stage";
  }
  return "";
}

} // namespace

TraceWriter::TraceWriter(AtomicFile file) : file(std::move(file)) {}

Expected<TraceWriter> TraceWriter::create(const std::string &path) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  TraceWriter writer(file.take());
  writer.buffer.reserve(bufferBytes + 4096);
  writer.buffer = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  return writer;
}

void TraceWriter::flush() {
  if (failed.ok())
    failed = file.write(buffer);
  buffer.clear();
}

void TraceWriter::text(std::string_view key, std::string_view value) {
  if (needComma)
    buffer += ", ";
  needComma = true;
  (buffer += '"') += key;
  buffer += "\": ";
  buffer +=
      nlohmann::json(value).dump(-1, ' ', /*ensure_ascii=*/false,
                                 nlohmann::json::error_handler_t::replace);
}

void TraceWriter::number(std::string_view key, int64_t value) {
  if (needComma)
    buffer += ", ";
  needComma = true;
  (buffer += '"') += key;
  (buffer += "\": ") += std::to_string(value);
}

void TraceWriter::real(std::string_view key, double value) {
  char digits[40];
  // JSON has no notation for infinity and NaN.
  std::snprintf(digits, sizeof(digits), "%.6g",
                std::isfinite(value) ? value : 0.0);
  if (needComma)
    buffer += ", ";
  needComma = true;
  (buffer += '"') += key;
  (buffer += "\": ") += digits;
}

void TraceWriter::micros(std::string_view key, Time value) {
  char digits[40];
  int64_t nanos = value.count();
  std::snprintf(digits, sizeof(digits), "%s%" PRId64 ".%03" PRId64,
                nanos < 0 ? "-" : "", std::abs(nanos) / 1000,
                std::abs(nanos) % 1000);
  if (needComma)
    buffer += ", ";
  needComma = true;
  (buffer += '"') += key;
  (buffer += "\": ") += digits;
}

void TraceWriter::begin(char type, int32_t rank, int64_t track, Time at) {
  buffer += first ? "\n{" : ",\n{";
  first = false;
  needComma = false;
  text("ph", std::string_view(&type, 1));
  number("pid", rank);
  number("tid", track);
  micros("ts", at);
}

void TraceWriter::openArguments() {
  buffer += ", \"args\": {";
  needComma = false;
  inArguments = true;
}

void TraceWriter::end() {
  buffer += inArguments ? "}}" : "}";
  inArguments = false;
  if (buffer.size() >= bufferBytes)
    flush();
}

void TraceWriter::metadata(int32_t rank, int64_t track, std::string_view what,
                           std::string_view name) {
  begin('M', rank, track, Time(0));
  text("name", what);
  openArguments();
  text("name", name);
  end();
}

void TraceWriter::nameRank(int32_t rank, std::string_view name) {
  metadata(rank, 0, "process_name", name);
  begin('M', rank, 0, Time(0));
  text("name", "process_sort_index");
  openArguments();
  number("sort_index", rank);
  end();
  for (Track track : {Track::Head, Track::Draft, Track::Stage})
    nameTrack(rank, track, trackName(track));
}

void TraceWriter::nameTrack(int32_t rank, Track track, std::string_view name) {
  metadata(rank, static_cast<int64_t>(track), "thread_name", name);
}

/// Messages under way overlap, so each one is written as a pair of events of
/// its own.
void TraceWriter::writeMessage(const TraceEvent &event) {
  const KindText &kind = textOf(event.kind);
  uint64_t id = messages++;
  for (bool atEnd : {false, true}) {
    begin(atEnd ? 'e' : 'b', event.rank, 0,
          atEnd ? event.begin + event.duration : event.begin);
    text("cat", "message");
    text("name", std::string(kind.name) + " to rank " +
                     std::to_string(event.values[0]));
    number("id", static_cast<int64_t>(id));
    if (!atEnd) {
      openArguments();
      for (int i = 1; i < valueCount && !kind.values[i].empty(); ++i)
        number(kind.values[i], event.values[i]);
    }
    end();
  }
}

void TraceWriter::writeInstant(const TraceEvent &event) {
  const KindText &kind = textOf(event.kind);
  bool isSpan = event.kind == Kind::Step;
  bool isCounter = event.kind == Kind::Alive || event.kind == Kind::Mailbox;
  begin(isSpan      ? 'X'
        : isCounter ? 'C'
                    : 'i',
        event.rank, static_cast<int64_t>(event.track), event.begin);
  if (isSpan) {
    micros("dur", event.duration);
    text("name", std::to_string(event.values[0]) +
                     (event.values[0] == 1 ? " row" : " rows"));
  } else {
    text("name", kind.name);
  }
  if (!isSpan && !isCounter)
    text("s", "t"); // a mark in its track only
  openArguments();
  for (int i = 0; i < valueCount && !kind.values[i].empty(); ++i) {
    std::string_view name = nameOfValue(event.kind, i, event.values[i]);
    if (name.empty())
      number(kind.values[i], event.values[i]);
    else
      text(kind.values[i], name);
  }
  if (event.kind == Kind::Policy)
    real("chance", event.chance);
  end();
}

void TraceWriter::write(const TraceEvent &event) {
  if (event.kind == Kind::Message || event.kind == Kind::Control)
    writeMessage(event);
  else
    writeInstant(event);
}

Status TraceWriter::finish() {
  buffer += "\n]}\n";
  flush();
  return failed.ok() ? file.commit() : failed;
}
