// An operator as the log of a dump has it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/frame.h"
#include "model/operator.h"

namespace opdump::dump {

// What a call executed, beside its tensors.
struct CallForm {
  std::string function = {};   // with its overload: "aten::add.Tensor"; empty if unknown
  std::string arguments = {};  // encode_call_arguments(); empty if unknown
  std::string state = {};      // encode_call_state(); empty if there is none
  bool operator==(const CallForm&) const = default;
};

struct LoggedOperator : model::Operator {
  LoggedOperator() = default;
  LoggedOperator(model::Operator op, std::vector<model::Frame> calls = {})  // NOLINT: one without calls
      : model::Operator(std::move(op)), stack(std::move(calls)) {}
  std::vector<model::Frame> stack;  // the calls that led to it, innermost first; empty if unknown
};

}  // namespace opdump::dump
