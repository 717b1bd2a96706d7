// Names of .npy files, of members of .npz archives and of directories, as the tools around CANN and PyTorch
// give them, beside MindSpore's own (file_name.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/operator.h"

namespace opdump::dump {

// What the name of a file says of the tensor in it.
struct TensorName {
  std::string type;  // empty if the name does not state it
  std::string name;
  std::uint64_t task = 0;
  std::int64_t stream = 0;
  std::uint64_t timestamp_us = 0;  // 0 if the name has none
  model::Side side = model::Side::output;
  std::uint32_t index = 0;
  std::optional<std::uint32_t> part;  // of a list that is operand `index`
  std::string format;                 // empty if the name does not state it
  std::uint32_t execution = 0;        // of the operator in its step, counted from 0
};

// Nothing if `stem`, a name without ".npy", is none of
//   {call}.{input|output}.{index}[.{shape or format}]         what msaccucmp converts a dump file into,
//   cann.md 4.10 {node}-{operator}.{INPUT|OUTPUT}.{index}[.{part}].{20 digits}   TorchAir's eager dump, A.7.2
//   {operator}.{output index}.{microseconds}                  golden data for msaccucmp
//   {operator}[.run{execution}].{input|output}.{index}        what `opdump convert` makes
std::optional<TensorName> parse_tensor_name(std::string_view stem);

// What the name of a file of SGLang's dumper says: tags, in any order, as
//   step=0___rank=1___dump_index=7___name=hidden_states___layer_id=3
// Older releases say forward_pass_id for step. Nothing if `stem`, a name without ".pt", is no such name.
struct TaggedName {
  std::string name;  // with its other tags in front: "layer_id=3/hidden_states"
  std::int64_t step = 0;
  std::uint32_t rank = 0;
  std::uint64_t index = 0;  // counted over the program
};
std::optional<TaggedName> parse_tagged_name(std::string_view stem);

// SGLang's own name for the directory of a run, which is a time: "dump_20260131_235959_123456",
// "sglang_dump_1769903999.5".
bool is_tagged_run(std::string_view directory_name);

// W and R of "worldsize{W}_global_rank{R}": the rank.
std::optional<std::uint32_t> find_global_rank(std::string_view directory_name);

// What `opdump convert` makes of an operator's name in files: one part of a path on every system. A long one
// is cut, and ends in a part of its MD5 then. Not reversible.
std::string converted_name(std::string_view operator_name);

// What comes before the slot in a name that `opdump convert` makes: "relu-op0", "relu-op0.run1".
std::string execution_name(std::string_view operator_name, std::uint32_t execution);

// Side and index of "input_0.pb" and "output_0.pb", the test data of an ONNX model.
struct TestDataName {
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
};
std::optional<TestDataName> parse_test_data_name(std::string_view file_name);

}  // namespace opdump::dump
