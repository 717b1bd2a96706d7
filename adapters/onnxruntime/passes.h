// Cuts a run into passes whose values fit into memory together.
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

// Operators first <= i < end in order of execution, and the values that have to be there to tell of them.
struct Pass {
  std::size_t first = 0, end = 0;
  std::vector<std::string_view> values;
};

// Bytes of each value, as far as they can be known before a run: what ONNX Runtime infers, with the
// dimensions that have names taken from the inputs. Where it knows nothing: as many as the largest thing that
// the operator reads.
std::map<std::string_view, std::uint64_t> estimate_sizes(const ModelFile& model,
                                                         std::span<const ExpectedOutput> expected,
                                                         std::span<const Tensor> inputs);

// As few passes as the limit allows, one operator in each at least. `needs` gives the values of an operator
// that have to be there to tell of it.
std::vector<Pass> plan_passes(std::size_t node_end, std::uint64_t limit_bytes,
                              const std::map<std::string_view, std::uint64_t>& sizes,
                              const std::function<std::vector<std::string_view>(std::size_t)>& needs);

// The operators among the first `node_end` that `values` depend on, in order.
std::vector<std::size_t> find_ancestors(const ModelFile& model, std::size_t node_end,
                                        std::span<const std::string_view> values);

}  // namespace opdump::onnx
