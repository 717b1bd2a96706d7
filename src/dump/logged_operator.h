// An operator as the log of a dump has it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

  bool is_of_onnx() const { return function.starts_with("onnx::"); }
};

// Which part of tensors that several ranks hold together a call has.
struct CallLayout {
  std::vector<std::int64_t> mesh = {}, place = {};  // sizes of its dimensions; where this rank is in it
  // By the name of a slot, "input.0": for each dimension of the mesh what it does to the tensor, as
  // opdump_part has it.
  std::map<std::string, std::string> slots = {};
  bool operator==(const CallLayout&) const = default;
};

struct LoggedOperator : model::Operator {
  LoggedOperator() = default;
  LoggedOperator(model::Operator op, std::vector<model::Frame> calls = {})  // NOLINT: one without calls
      : model::Operator(std::move(op)), stack(std::move(calls)) {}
  std::vector<model::Frame> stack;  // the calls that led to it, innermost first; empty if unknown
  // The step from which on the program calls it from this line; nothing: from its first step on.
  std::optional<std::int64_t> since = std::nullopt;
  // Whether its scope is as our adapters have it. Else it is a path of modules without their classes, and an
  // operator of the backward pass may have none.
  bool has_full_scope = true;
};

// "train.py:31"; where code of an installed package called the operator, "train.py:31 by
// transformers/models/llama/modeling_llama.py:213". Empty if no line is known.
std::string describe_source(const LoggedOperator& op);

}  // namespace opdump::dump
