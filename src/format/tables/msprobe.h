// What msprobe (MindStudio's probe for PyTorch and MindSpore, the package mindstudio-probe) writes of a step
// of a process, as JSON: dump.json, what each API and module read and wrote; construct.json, in which module
// each was called; stack.json, from where. Calls are named "Functional.conv2d.0.forward" (an API: prefix,
// API, number, direction), "Module.layer1.conv1.Conv2d.forward.0" (a module: its path, its class, direction,
// number), or "Module.layer1.conv1.Conv2d.parameters_grad" (gradients of its parameters).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/dtype.h"
#include "model/frame.h"
#include "model/operator.h"
#include "model/shape.h"

namespace opdump::format {

// What the name of a call says.
struct MsprobeName {
  std::string type;    // "conv2d", "Conv2d"
  std::string module;  // the path of a module: "layer1.conv1"; empty for an API
  model::Phase phase = model::Phase::forward;
};
MsprobeName parse_msprobe_name(std::string_view name);

struct MsprobeTensor {
  model::Side side = model::Side::input;
  std::uint32_t index = 0;  // among all of its side; a plain argument has its own position
  std::string argument;  // "parameters.weight", "bias" (a keyword), "1.0" (in a list); empty for a plain one
  model::DType dtype = model::DType::undefined;
  std::optional<model::Shape> shape;
  std::vector<std::pair<std::string, std::string>> statistics;  // with the columns of statistic.csv
  std::string data_name;                                        // of the tensor's file; empty if it has none
};

// Calls take(name, tensors, arguments) for each call in the order of dump.json (or debug.json), which is
// mostly that of execution. `arguments` is a JSON object with the numbers, words and lists of these that a
// call was given, by position or keyword: {"1":[16],"4":1e-05}. Returns how many entries are not as msprobe
// writes them and are left out. Errors: corrupt; calls before the damage have been taken.
using TakeMsprobeCall =
    std::function<void(const std::string& name, std::vector<MsprobeTensor> tensors, std::string arguments)>;
Result<std::uint64_t> decode_msprobe_dump(std::string_view text, const TakeMsprobeCall& take);

// construct.json: what each call was made in: "Module.layer1.Block.forward.0"; "optimizer". Errors: corrupt.
Result<std::map<std::string, std::string>> decode_msprobe_construct(std::string_view text);

// stack.json: the calls of the program that led to each call, innermost first. Errors: corrupt.
struct MsprobeStacks {
  std::vector<std::vector<model::Frame>> stacks;
  std::map<std::string, std::size_t> by_name;  // of calls, which of the stacks
};
Result<MsprobeStacks> decode_msprobe_stacks(std::string_view text);

}  // namespace opdump::format
