// All lines of an operators.jsonl, for tests.
#pragma once

#include <utility>
#include <vector>

#include "dump/operator_log.h"

namespace opdump::dump {

struct OperatorLines {
  std::vector<LoggedOperator> operators;
  std::vector<UndumpedSlot> undumped;
  std::vector<LoggedForm> calls;
  std::vector<LoggedLayout> layouts;
  std::vector<LoggedWiring> wirings;

  TakeLogLine taker() {
    return {[this](LoggedOperator op) {
              operators.push_back(std::move(op));
              return ok();
            },
            [this](UndumpedSlot slot) {
              undumped.push_back(std::move(slot));
              return ok();
            },
            [this](LoggedForm call) {
              calls.push_back(std::move(call));
              return ok();
            },
            [this](LoggedLayout layout) {
              layouts.push_back(std::move(layout));
              return ok();
            },
            [this](LoggedWiring logged) {
              wirings.push_back(std::move(logged));
              return ok();
            }};
  }
};

}  // namespace opdump::dump
