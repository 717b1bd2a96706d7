#include "parts.h"

#include <algorithm>
#include <set>
#include <unordered_map>

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

// 0 if it is unknown.
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

// A constant is made anew in each part that reads it: some operators want to know it before they run.
bool is_constant(const Node& node) { return node.type == "Constant"; }

// What an operator reads, in its subgraphs too.
template <typename F>
void for_each_read(const Node& node, const F& use) {
  for (const std::string_view name : node.inputs)
    if (!name.empty()) use(name);
  for (const std::string_view name : node.captured) use(name);
}

// For each value the last operator that reads it.
using LastReads = std::unordered_map<std::string_view, std::size_t>;
LastReads find_last_reads(const ModelFile& model) {
  LastReads last;
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    for_each_read(model.nodes[i], [&](std::string_view name) { last[name] = i; });
  return last;
}

// Whether a part may end before operator `i`: no value that lives across cannot cross.
std::vector<bool> find_cuts(const ModelFile& model, const LastReads& last_reads,
                            const std::function<bool(std::string_view)>& can_cross) {
  std::vector<int> begun(model.nodes.size() + 2);  // values that cannot cross: born less dead
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (is_constant(model.nodes[i])) continue;
    for (const std::string_view name : model.nodes[i].outputs) {
      const auto last = last_reads.find(name);
      if (last == last_reads.end() || can_cross(name)) continue;
      ++begun[i + 1];
      --begun[last->second + 1];
    }
  }
  std::vector<bool> can_cut;
  for (int alive = 0; const int change : begun) can_cut.push_back((alive += change) == 0);
  return can_cut;
}

std::vector<std::string_view> find_feeds(const ModelFile& model, const ModelPart& part) {
  std::set<std::string_view> feeds;
  for (std::size_t i = part.first; i < part.end; ++i)
    for_each_read(model.nodes[i], [&](std::string_view name) {
      const auto producer = model.producers.find(name);
      const bool is_made_before = producer != model.producers.end() && producer->second < part.first &&
                                  !is_constant(model.nodes[producer->second]);
      const bool is_input = producer == model.producers.end() && !model.initializer_of.contains(name);
      if (is_made_before || is_input) feeds.insert(name);
    });
  return {feeds.begin(), feeds.end()};
}

std::vector<std::string_view> find_values(const ModelFile& model, const ModelPart& part,
                                          const LastReads& last_reads,
                                          const std::function<bool(std::string_view)>& is_needed) {
  std::vector<std::string_view> values;
  for (std::size_t i = part.first; i < part.end; ++i)
    for (const std::string_view name : model.nodes[i].outputs) {
      const auto last = last_reads.find(name);
      const bool is_read_behind =
          last != last_reads.end() && last->second >= part.end && !is_constant(model.nodes[i]);
      if (!name.empty() && (is_read_behind || is_needed(name))) values.push_back(name);
    }
  return values;
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

std::vector<ModelPart> cut_into_parts(const ModelFile& model, std::uint64_t limit_bytes, const Sizes& sizes,
                                      const std::function<bool(std::string_view)>& is_needed,
                                      const std::function<bool(std::string_view)>& can_cross) {
  const LastReads last_reads = find_last_reads(model);
  const std::vector<bool> can_cut = find_cuts(model, last_reads, can_cross);
  std::vector<ModelPart> parts;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    std::uint64_t more = 0;
    for (const std::string_view name : model.nodes[i].outputs)
      if (const auto size = sizes.find(name); size != sizes.end() && is_needed(name)) more += size->second;
    if (parts.empty() || (more > 0 && bytes > 0 && bytes + more > limit_bytes && can_cut[i])) {
      parts.push_back({i, i, {}, {}});
      bytes = 0;
    }
    parts.back().end = i + 1;
    bytes += more;
  }
  for (ModelPart& part : parts) {
    part.feeds = find_feeds(model, part);
    part.values = find_values(model, part, last_reads, is_needed);
  }
  return parts;
}

std::vector<std::size_t> nodes_of(const ModelFile& model, const ModelPart& part) {
  std::set<std::size_t> nodes;
  for (std::size_t i = part.first; i < part.end; ++i) {
    nodes.insert(i);
    for_each_read(model.nodes[i], [&](std::string_view name) {
      const auto producer = model.producers.find(name);
      if (producer != model.producers.end() && is_constant(model.nodes[producer->second]))
        nodes.insert(producer->second);
    });
  }
  return {nodes.begin(), nodes.end()};
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
