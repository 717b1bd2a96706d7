#include "passes.h"

#include <algorithm>
#include <set>

#include "dtypes.h"

namespace opdump::onnx {
namespace {

using Sizes = std::map<std::string_view, std::uint64_t>;

// The sizes of named dimensions, from the inputs of this run.
std::map<std::string_view, std::int64_t> named_dimensions(const ModelFile& model,
                                                          std::span<const Tensor> inputs) {
  std::map<std::string_view, std::int64_t> sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (std::size_t axis = 0; axis < model.inputs[i].dim_names.size() && axis < inputs[i].dims.size();
         ++axis)
      if (const std::string_view name = model.inputs[i].dim_names[axis]; !name.empty())
        sizes.emplace(name, inputs[i].dims[axis]);
  return sizes;
}

// 0 if it cannot be told.
std::uint64_t size_of(const ExpectedOutput& output, const std::map<std::string_view, std::int64_t>& named) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  if (!output.is_tensor) return 0;
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < output.dims.size(); ++axis) {
    std::int64_t dim = output.dims[axis];
    if (dim < 0) {
      const auto known = named.find(output.dim_names[axis]);
      if (known == named.end() || known->second < 0) return 0;
      dim = known->second;
    }
    count = std::min(kMost, count * static_cast<std::uint64_t>(std::min<std::int64_t>(dim, kMost / 16)));
    if (count >= kMost / 16) return kMost;
  }
  return byte_count(element_type(output.element_type), count);
}

}  // namespace

Sizes estimate_sizes(const ModelFile& model, std::span<const ExpectedOutput> expected,
                     std::span<const Tensor> inputs) {
  const auto named = named_dimensions(model, inputs);
  std::map<std::string_view, std::uint64_t> inferred;
  for (const ExpectedOutput& output : expected) inferred[output.name] = size_of(output, named);
  Sizes sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) sizes[model.inputs[i].name] = inputs[i].bytes;
  for (const Node& node : model.nodes) {
    std::uint64_t largest = 0;
    for (const std::string_view name : node.inputs)
      if (const auto size = sizes.find(name); size != sizes.end()) largest = std::max(largest, size->second);
    for (const std::string_view name : node.outputs) {
      const auto size = inferred.find(name);
      sizes[name] = size != inferred.end() && size->second > 0 ? size->second : largest;
    }
  }
  return sizes;
}

std::vector<Pass> plan_passes(std::size_t node_end, std::uint64_t limit_bytes, const Sizes& sizes,
                              const std::function<std::vector<std::string_view>(std::size_t)>& needs) {
  std::vector<Pass> passes;
  std::set<std::string_view> values;
  std::uint64_t bytes = 0;
  std::size_t first = 0;
  const auto close = [&](std::size_t end) {
    if (!values.empty()) passes.push_back({first, end, {values.begin(), values.end()}});
    first = end;
    values.clear();
    bytes = 0;
  };
  for (std::size_t i = 0; i < node_end; ++i) {
    const std::vector<std::string_view> needed = needs(i);
    const auto count_new = [&] {
      std::uint64_t more = 0;
      for (const std::string_view name : needed)
        if (const auto size = sizes.find(name); size != sizes.end() && !values.contains(name))
          more += size->second;
      return more;
    };
    if (const std::uint64_t more = count_new(); more > 0 && !values.empty() && bytes + more > limit_bytes)
      close(i);
    bytes += count_new();  // again: another pass needs all of it
    values.insert(needed.begin(), needed.end());
  }
  close(node_end);
  return passes;
}

std::vector<std::size_t> find_ancestors(const ModelFile& model, std::size_t node_end,
                                        std::span<const std::string_view> values) {
  std::vector<bool> is_needed(node_end);
  const auto need = [&](std::string_view name) {
    const auto producer = model.producers.find(name);
    if (producer != model.producers.end() && producer->second < node_end) is_needed[producer->second] = true;
  };
  for (const std::string_view name : values) need(name);
  for (std::size_t i = node_end; i-- > 0;) {
    if (!is_needed[i]) continue;
    for (const std::string_view name : model.nodes[i].inputs) need(name);
    for (const std::string_view name : model.nodes[i].captured) need(name);
  }
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < node_end; ++i)
    if (is_needed[i]) nodes.push_back(i);
  return nodes;
}

}  // namespace opdump::onnx
