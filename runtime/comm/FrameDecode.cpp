//===- FrameDecode.cpp - decoders of frames -------------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/Frame.h"
#include "runtime/comm/FrameLayout.h"
#include "runtime/comm/Wire.h"

#include <cmath>

using namespace sluice;
using namespace sluice::comm;

namespace {

constexpr int64_t maxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t maxInt64 = std::numeric_limits<int64_t>::max();
/// The largest time of a timing: the head adds times up, which must not
/// overflow.
constexpr int64_t maxNanos = maxInt64 / 4;

/// Reads the entries of one frame's tables, within the limits.
class TableReader {
public:
  TableReader(WireReader &in, const FrameLimits &limits)
      : in(in), limits(limits) {}

  void read(OpenRequest &open) {
    open.request = request();
    open.firstNode = in.getInRange<int64_t>("a first node", 0, maxInt64);
    open.promptTokens =
        in.getInRange<int32_t>("a prompt's length", 1, limits.contextLength);
    open.knownTokens = in.getInRange<int32_t>(
        "a number of known tokens", open.promptTokens, limits.contextLength);
    open.logProbabilities = in.getInRange<int32_t>(
        "a number of log-probabilities", -1, limits.reportEntries - 1);
    read(open.sampling);
    if (Status status = open.sampling.validate(limits.vocabSize);
        in.ok() && !status.ok())
      in.fail(status);
    auto kind = static_cast<GrammarSource::Kind>(in.getInRange<uint8_t>(
        "a kind of grammar", 0,
        static_cast<int64_t>(GrammarSource::Kind::Gbnf)));
    const auto scope = in.get<uint64_t>();
    std::span<const uint8_t> source = in.take(
        in.getCount("letters of a grammar", GrammarSource::maxBytes, 1));
    open.grammar = {kind, std::string(source.begin(), source.end())};
    open.grammar.scope = scope;
    open.tenant = in.get<uint64_t>();
    readAll(open.prefixPages,
            in.getCount("prefix pages", limits.sharedPages, layout::pageBytes),
            &TableReader::page);
    readAll(
        open.prefix,
        in.getCount("prefix tokens", limits.contextLength, layout::tokenBytes),
        &TableReader::token);
    readAll(
        open.scored,
        in.getCount("scored tokens", limits.contextLength, layout::tokenBytes),
        &TableReader::token);
  }

  void read(PinPage &pin) {
    pin.request = request();
    pin.node = in.getInRange<int64_t>("a pinned node", 0, maxInt64);
    pin.index =
        in.getInRange<int32_t>("a page of a path", 0, limits.contextLength - 1);
    pin.page = page();
  }

  void read(EpochMark &mark) {
    mark.request = request();
    mark.epoch = in.getInRange<int32_t>("an epoch", 0, maxInt32);
    mark.confirmed =
        in.getInRange<int64_t>("a confirmed node", noNode, maxInt64);
    mark.ended = in.getFlag("a mark's flag");
  }

  void read(Row &row) {
    row.node = in.getInRange<int64_t>("a node", 0, maxInt64);
    row.parent = in.getInRange<int64_t>("a row's parent", noNode, row.node - 1);
    row.request = request();
    row.position =
        in.getInRange<int32_t>("a position", 0, limits.contextLength - 1);
    row.token = token();
    auto flags = in.getInRange<uint8_t>("a row's flags", 0,
                                        layout::rowCertain | layout::rowWants);
    row.certain = (flags & layout::rowCertain) != 0;
    row.wantsOutput = (flags & layout::rowWants) != 0;
  }

  void read(StageTiming &timing) {
    timing.rows = in.getInRange<int32_t>("a step's rows", 0, maxInt32);
    timing.departed = in.getInRange<int32_t>("rows that left", 0, timing.rows);
    timing.busyNanos = in.getInRange<int64_t>("a busy time", 0, maxNanos);
    timing.idleNanos = in.getInRange<int64_t>("an idle time", 0, maxNanos);
  }

  void read(ResultRow &result) {
    result.node = in.getInRange<int64_t>("a node", 0, maxInt64);
    result.request = request();
    result.token = token();
    readAll(result.report, in.getCount("report entries", limits.reportEntries,
                                       layout::reportEntryBytes));
    std::span<const uint8_t> error =
        in.take(in.getCount("letters of an error", layout::errorBytes, 1));
    result.error.assign(error.begin(), error.end());
    result.isNotFinite =
        !error.empty() &&
        in.getInRange<uint8_t>("whether logits are not finite", 0, 1) != 0;
  }

  void read(TokenLogProbability &entry) {
    entry.token = token();
    entry.logProbability = in.get<double>();
    if (!(entry.logProbability <= 0))
      in.fail(failure("a log-probability is ", entry.logProbability,
                      ", not at most 0"));
  }

  /// Reads `count` entries, and stops at the first error. `count` comes from
  /// getCount(), so it exceeds neither the limits nor the bytes.
  template <typename T> void readAll(std::vector<T> &list, size_t count) {
    list.resize(count);
    for (size_t i = 0; i < count && in.ok(); ++i)
      read(list[i]);
  }
  /// Like readAll() above, but reads each entry by `one`, which is request,
  /// token or page.
  void readAll(std::vector<int32_t> &list, size_t count,
               int32_t (TableReader::*one)()) {
    list.resize(count);
    for (size_t i = 0; i < count && in.ok(); ++i)
      list[i] = (this->*one)();
  }

  RequestId request() {
    return in.getInRange<RequestId>("a request", 0, limits.requests - 1);
  }
  int32_t token() {
    return in.getInRange<int32_t>("a token", 0, limits.vocabSize - 1);
  }
  SharedPage page() {
    return in.getInRange<SharedPage>("a shared page", 0,
                                     limits.sharedPages - 1);
  }

private:
  void read(SamplingParams &sampling) {
    sampling.temperature = in.get<double>();
    sampling.topK = in.get<int64_t>();
    sampling.topP = in.get<double>();
    sampling.minP = in.get<double>();
    sampling.repetitionPenalty = in.get<double>();
    sampling.presencePenalty = in.get<double>();
    sampling.frequencyPenalty = in.get<double>();
    sampling.seed = in.get<uint64_t>();
    sampling.logitBias.clear();
    size_t count =
        in.getCount("logit biases", limits.vocabSize, layout::biasBytes);
    int64_t last = -1;
    for (size_t i = 0; i < count && in.ok(); ++i) {
      int32_t biased = in.getInRange<int32_t>("a biased token", last + 1,
                                              limits.vocabSize - 1);
      double bias = in.get<double>();
      sampling.logitBias.emplace_hint(sampling.logitBias.end(), biased, bias);
      last = biased;
    }
  }

  WireReader &in;
  const FrameLimits &limits;
};

/// Returns the body of a frame whose header has been checked.
std::span<const uint8_t> bodyOf(std::span<const uint8_t> bytes) {
  return bytes.subspan(frameHeaderBytes);
}

Expected<FrameHeader> readHeaderOf(FrameKind kind, const FrameCodec &codec,
                                   std::span<const uint8_t> bytes) {
  Expected<FrameHeader> header = codec.readHeader(bytes);
  if (header && header->kind != kind)
    return failure("frame: kind '", frameKindName(header->kind),
                   "' instead of '", frameKindName(kind), "'");
  return header;
}

/// Returns the reader's error, with the kind of the frame.
Status finish(WireReader &in, FrameKind kind) {
  Status status = in.finish();
  return status.ok()
             ? status
             : failure("frame '", frameKindName(kind), "': ", status.message());
}

/// Reads data[row][width], which begins at the first aligned offset after the
/// entries.
void readActivations(WireReader &in, size_t frameBytes, int64_t rows,
                     int64_t width, const FrameLimits &limits,
                     ActivationRows &activations) {
  int64_t expected = rows == 0 ? 0 : limits.width;
  if (in.ok() && width != expected)
    in.fail(failure("activations of width ", width, " instead of ", expected));
  if (in.ok() && width == 0 && activations.format != ActivationFormat::F32)
    in.fail(failure("a format without activations"));
  if (in.ok() && width != 0 && activations.format != limits.format)
    in.fail(failure("activations as ", activationFormatName(activations.format),
                    " instead of ", activationFormatName(limits.format)));
  activations.width = width;
  activations.data = {};
  if (!in.ok() || width == 0)
    return;
  size_t offset = frameBytes - in.remaining();
  for (uint8_t zero : in.take(layout::aligned(offset) - offset))
    if (zero != 0)
      in.fail(failure("padding is not zero"));
  activations.data = in.take(
      static_cast<size_t>(rows * width * activationBytes(activations.format)));
}

} // namespace

Status FrameCodec::decodeStep(std::span<const uint8_t> bytes, StepFrame &frame,
                              ActivationRows &activations) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Step, *this, bytes);
  if (!header)
    return header.status();
  frame.clear();
  frame.step = header->step;
  frame.launched = header->launched;
  activations = {};
  if (bodyOf(bytes).empty())
    return {}; // a tombstone
  WireReader in(bodyOf(bytes));
  TableReader tables(in, bounds);
  size_t unpins = in.getCount("unpins", bounds.sharedPages, layout::pageBytes);
  size_t opens = in.getCount("opens", bounds.requests, layout::openBytes);
  size_t marks = in.getCount("marks", bounds.requests, layout::markBytes);
  size_t rows = in.getCount("rows", bounds.rows, layout::rowBytes);
  size_t pins = in.getCount("pins", bounds.sharedPages, layout::pinBytes);
  size_t closes = in.getCount("closes", bounds.requests, layout::closeBytes);
  size_t timings = in.getCount("timings", bounds.stages, layout::timingBytes);
  auto width = static_cast<int64_t>(in.get<uint32_t>());
  activations.format = static_cast<ActivationFormat>(in.getInRange<uint8_t>(
      "an activation format", 0, static_cast<int64_t>(ActivationFormat::F16)));
  if (in.ok() && unpins + opens + rows + pins + closes == 0)
    in.fail(failure("a tombstone with a body"));
  tables.readAll(frame.unpins, unpins, &TableReader::page);
  tables.readAll(frame.opens, opens);
  tables.readAll(frame.marks, marks);
  tables.readAll(frame.rows, rows);
  tables.readAll(frame.pins, pins);
  tables.readAll(frame.closes, closes, &TableReader::request);
  tables.readAll(frame.timings, timings);
  readActivations(in, bytes.size(), static_cast<int64_t>(rows), width, bounds,
                  activations);
  return finish(in, FrameKind::Step);
}

Status FrameCodec::decodeResults(std::span<const uint8_t> bytes,
                                 ResultFrame &frame) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Results, *this, bytes);
  if (!header)
    return header.status();
  frame.step = header->step;
  frame.launched = header->launched;
  WireReader in(bodyOf(bytes));
  TableReader tables(in, bounds);
  size_t results = in.getCount("results", bounds.rows, layout::resultBytes);
  size_t timings = in.getCount("timings", bounds.stages, layout::timingBytes);
  tables.readAll(frame.results, results);
  tables.readAll(frame.timings, timings);
  return finish(in, FrameKind::Results);
}

Status FrameCodec::decodeEpochs(std::span<const uint8_t> bytes,
                                EpochFrame &frame) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Epochs, *this, bytes);
  if (!header)
    return header.status();
  WireReader in(bodyOf(bytes));
  TableReader tables(in, bounds);
  frame.decided = Time(in.getInRange<int64_t>("a time", 0, maxInt64));
  size_t marks = in.getCount("marks", bounds.requests, layout::markBytes);
  tables.readAll(frame.marks, marks);
  return finish(in, FrameKind::Epochs);
}

Status FrameCodec::decodeError(std::span<const uint8_t> bytes,
                               ErrorFrame &frame) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Error, *this, bytes);
  if (!header)
    return header.status();
  WireReader in(bodyOf(bytes));
  frame.rank = in.getInRange<int32_t>("a rank", 0, maxInt32);
  if (in.ok() && in.remaining() > static_cast<size_t>(bounds.textBytes))
    in.fail(failure("a text of ", in.remaining(), " bytes, the limit is ",
                    bounds.textBytes));
  std::span<const uint8_t> text = in.take(in.remaining());
  frame.text.assign(text.begin(), text.end());
  return finish(in, FrameKind::Error);
}

Status FrameCodec::decodeReport(std::span<const uint8_t> bytes,
                                std::string &text) const {
  Expected<FrameHeader> header = readHeaderOf(FrameKind::Report, *this, bytes);
  if (!header)
    return header.status();
  std::span<const uint8_t> body = bodyOf(bytes);
  if (body.size() > static_cast<size_t>(bounds.textBytes))
    return failure("frame 'report': a text of ", body.size(),
                   " bytes, the limit is ", bounds.textBytes);
  text.assign(body.begin(), body.end());
  return {};
}
