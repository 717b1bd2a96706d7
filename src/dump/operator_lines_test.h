// All lines of an operators.jsonl, for tests.
#pragma once

#include <utility>
#include <vector>

#include "dump/operator_log.h"

namespace opdump::dump {

struct OperatorLines {
  std::vector<LoggedOperator> operators;
  std::vector<UndumpedSlot> undumped;

  TakeLogLine taker() {
    return {[this](LoggedOperator op) {
              operators.push_back(std::move(op));
              return ok();
            },
            [this](UndumpedSlot slot) {
              undumped.push_back(std::move(slot));
              return ok();
            }};
  }
};

}  // namespace opdump::dump
