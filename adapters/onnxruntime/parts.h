// Cuts a run into consecutive parts. While one part runs, the recorder writes the values of the previous part
// and releases values that are no longer needed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "engine.h"
#include "model_file.h"

namespace opdump::onnx {

// Operators first <= i < end in order of execution.
struct ModelPart {
  std::size_t first = 0, end = 0;
  std::vector<std::string_view> feeds;   // what they read of the parts before and of the model's inputs
  std::vector<std::string_view> values;  // what they make that is needed behind them
};

// Bytes of each value, as far as they can be known before a run: what ONNX Runtime infers, with the
// dimensions that have names set from the inputs. Where it knows nothing: as many as the largest thing that
// the operator reads.
std::map<std::string_view, std::uint64_t> estimate_sizes(const ModelFile& model,
                                                         std::span<const ExpectedOutput> expected,
                                                         std::span<const Tensor> inputs);

// As few parts as the limit allows, each with at least one operator. `is_needed` is true for a value needed
// after the whole run; `can_cross` for a value that one part can pass to another.
std::vector<ModelPart> cut_into_parts(const ModelFile& model, std::uint64_t limit_bytes,
                                      const std::map<std::string_view, std::uint64_t>& sizes,
                                      const std::function<bool(std::string_view)>& is_needed,
                                      const std::function<bool(std::string_view)>& can_cross);

// The operators of a part: its own, and those that make the constants that it reads.
std::vector<std::size_t> nodes_of(const ModelFile& model, const ModelPart& part);

// The operators among the first `node_end` that `values` depend on, in order.
std::vector<std::size_t> find_ancestors(const ModelFile& model, std::size_t node_end,
                                        std::span<const std::string_view> values);

}  // namespace opdump::onnx
