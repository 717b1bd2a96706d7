// What DebugMode.save_logs of PyTorch (torch.utils._debug_mode) writes, as JSON:
//   {"format": "torch.utils._debug_mode.DebugMode.logs", "version": 1, "logs": [LINE, ...]}
// Each LINE has a "type" and a "call_depth". A line is an operator ("op") or a kernel of Triton
// ("triton_kernel") with its tensors and their hashes, or says where the lines behind it ran ("annotate": in
// a module, in a step of an optimizer). Page: docs/formats/debug_mode.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/dtype.h"
#include "model/frame.h"
#include "model/graph.h"
#include "model/operator.h"
#include "model/shape.h"

namespace opdump::format {

struct DebugModeTensor {
  model::Side side = model::Side::input;
  std::uint32_t index = 0;  // among the tensors of its side; None counts, too
  std::string argument;     // what a kernel of Triton calls it
  model::DType dtype = model::DType::undefined;
  std::optional<model::Shape> shape;
  // Its hashes: "L1Norm Value" (hash_fn "norm", or any that gives a float), "hash_tensor", or "Hash" (a text
  // of a function of the program).
  std::vector<std::pair<std::string, std::string>> statistics;
};

// A line of a log. Lines run within regions: `level` says how many calls the program was in, and a region
// holds the lines that follow as long as their level is at least `inner_level`.
struct DebugModeLine {
  enum class Kind : std::uint8_t {
    other,            // says nothing that we use; its level may end regions
    call,             // an operator or a kernel that ran
    module,           // a region: a module, "Net.conv1"
    module_backward,  // a region: the backward pass of a module, in compiled code
    record            // a region: torch.profiler.record_function, "Optimizer.step#SGD.step"
  };
  Kind kind = Kind::other;
  std::int64_t level = 0, inner_level = 0;
  std::string name;          // "aten::add.Tensor", "triton_poi_fused_0"; of a region what it is
  bool is_kernel = false;    // of Triton
  bool is_compiled = false;  // of a module: as a compiler saw it; of its backward pass, too, often as forward
  bool is_backward = false;  // the log says so
  std::vector<DebugModeTensor> tensors;
  // Those that are numbers, bool, None, tensors, or lists of them: by their keywords, else by their positions
  // ("7").
  std::vector<model::Argument> arguments;
  std::vector<model::Frame> stack;  // that led to it, or to its forward operator; innermost first
};

// What a log has that is not as it should be.
struct DebugModeFaults {
  std::uint64_t damaged = 0;  // lines that are left out
  std::uint64_t unknown = 0;  // lines of types that we do not know
  std::string first;          // where and what: "logs[3]: no call_depth"
};

// True for the first bytes of such a file.
bool is_debug_mode(std::string_view start);

// Calls take(line) for each line in the order of the log, which is that of execution. Errors: corrupt;
// unsupported -- of another format or version. Lines before the damage have been taken.
using TakeDebugModeLine = std::function<void(DebugModeLine line)>;
Result<DebugModeFaults> decode_debug_mode(std::string_view text, const TakeDebugModeLine& take);

}  // namespace opdump::format
