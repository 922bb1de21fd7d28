//===- Exchange.cpp - one request and its answer --------------------------===//
//
// Part of the Sluice project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/http/Exchange.h"

#include "runtime/http/ExchangeState.h"

using namespace sluice::http;

Exchange::Exchange(std::shared_ptr<server::ExchangeState> state)
    : state(std::move(state)) {}

Exchange::~Exchange() { state->abandon(); }

const Request &Exchange::request() const { return state->request(); }

std::string Exchange::takeBody() { return state->takeBody(); }

bool Exchange::hold(int64_t bytes) { return state->hold(bytes); }

void Exchange::reply(int status, const Fields &fields, std::string body) {
  state->reply(status, fields, std::move(body));
}

void Exchange::fail(int status, std::string_view message, Fields fields) {
  state->fail(status, message, std::move(fields));
}

bool Exchange::startStream(int status, const Fields &fields) {
  return state->startStream(status, fields);
}

bool Exchange::write(std::string_view data) { return state->write(data); }

void Exchange::breakOff() noexcept { state->breakOff(); }

void Exchange::endStream() { state->endStream(); }

bool Exchange::onGone(std::function<void()> fn) {
  return state->onGone(std::move(fn));
}

bool Exchange::gone() const { return state->gone(); }
