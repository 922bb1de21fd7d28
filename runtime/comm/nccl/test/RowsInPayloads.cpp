//===- RowsInPayloads.cpp - test messages whose tail is in device memory --===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/test/RowsInPayloads.h"

#include "runtime/comm/test/CollectingReceiver.h"

using namespace sluice;
using namespace sluice::comm;
using namespace sluice::comm::test;

constexpr size_t headBytes = frameHeaderBytes + sizeof(uint64_t);

Expected<std::unique_ptr<Communicator>>
RowsInPayloads::make(std::unique_ptr<cuda::Device> device,
                     std::unique_ptr<NcclCommunicator> inner) {
  std::unique_ptr<RowsInPayloads> made(new RowsInPayloads);
  made->device = std::move(device);
  made->inner = std::move(inner);
  SLUICE_RETURN_IF_ERROR(made->device->enter());
  Expected<cuda::DeviceAddress> rows = made->device->allocate(payloadLimit);
  Expected<cuda::Stream> first = made->device->makeStream();
  Expected<cuda::Stream> second = made->device->makeStream();
  for (const Status &status : {rows.status(), first.status(), second.status()})
    if (!status.ok())
      return status;
  made->rows = *rows;
  made->sendStream = *first;
  made->receiveStream = *second;
  return std::unique_ptr<Communicator>(std::move(made));
}

RowsInPayloads::~RowsInPayloads() {
  inner.reset(); // its thread uses the members below
  device->destroy(receiveStream);
  device->destroy(sendStream);
  device->release(rows);
}

void RowsInPayloads::start(Receiver given) {
  receiver = std::move(given);
  inner->start({receiver.roomFor,
                [this](Message message) { take(std::move(message)); },
                receiver.failed});
}

void RowsInPayloads::take(Message message) {
  DevicePayload payload = message.payload;
  if (payload.bytes > 0) {
    size_t head = message.bytes.size();
    message.bytes.resize(head + static_cast<size_t>(payload.bytes));
    Status copied =
        device->copyToHost(message.bytes.data() + head, payload.address,
                           static_cast<uint64_t>(payload.bytes), receiveStream);
    if (copied.ok())
      copied = device->synchronize(receiveStream);
    if (!copied.ok())
      inner->abort(copied);
    // Overwrite the payload before it is given back, as its next owner would.
    (void)device->fill(payload.address, 0xEE,
                       static_cast<uint64_t>(payload.bytes), receiveStream);
    (void)device->synchronize(receiveStream);
    inner->giveBack(payload);
    message.payload = {};
  }
  receiver.take(std::move(message));
}

Status RowsInPayloads::send(int64_t to, Lane lane, Bytes bytes,
                            int64_t emulatedBytes) {
  if (lane != Lane::Data || bytes.size() <= headBytes || to < 0 || to >= size())
    return inner->send(to, lane, std::move(bytes), emulatedBytes);
  std::lock_guard lock(sending);
  SLUICE_RETURN_IF_ERROR(device->enter());
  size_t length = bytes.size() - headBytes;
  SLUICE_RETURN_IF_ERROR(
      device->copyToDevice(rows, bytes.data() + headBytes, length, sendStream));
  bytes.resize(headBytes);
  Status sent = inner->sendRows(to, std::move(bytes), rows,
                                static_cast<int64_t>(length), sendStream);
  // Overwrite the rows, as a step that computes into the same buffer would.
  if (sent.ok())
    sent = device->fill(rows, 0xDD, length, sendStream);
  return sent;
}
