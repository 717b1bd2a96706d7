#include "blocked.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>

#include "dtypes.h"
#include "failure.h"

namespace opdump::onnx {
namespace {

using protozero::pbf_writer;

constexpr std::string_view kDomain = "com.microsoft.nchwc";

bool is_blocked_operator(const Node& node) { return node.domain == kDomain; }

class Finder {
 public:
  Finder(const ModelFile& original, const ModelFile& optimized, std::size_t block)
      : original_(original), optimized_(optimized), block_(static_cast<std::int64_t>(block)) {
    for (std::size_t i = 0; i < original.nodes.size(); ++i) by_name_.emplace(original.nodes[i].name, i);
  }

  Blockings take() { return std::move(found_); }

  void add(const Node& node, const std::vector<std::string>& names,
           const std::function<std::int64_t(std::string_view)>& channels) {
    if (node.type == "ReorderOutput" && is_blocked_operator(node)) return;
    if (node.type == "ReorderInput" && is_blocked_operator(node))
      return add_outputs(node, channels(node.inputs[0]));
    if (node.type == "Conv" && is_blocked_operator(node)) return add_convolution(node, names);
    const bool is_blocked = is_blocked_operator(node) || std::ranges::any_of(node.inputs, [&](auto name) {
                              return found_.contains(name) && !optimized_.initializer_of.contains(name);
                            });
    if (is_blocked) add_outputs(node, node.type == "Concat" ? sum_of_channels(node) : first_channels(node));
  }

 private:
  std::int64_t channels_of(std::string_view value) const {
    const auto known = found_.find(value);
    return known == found_.end() || known->second.dims.size() < 2 ? -1 : known->second.dims[1];
  }

  std::int64_t first_channels(const Node& node) const {
    for (const std::string_view input : node.inputs)
      if (found_.contains(input)) return channels_of(input);
    return -1;
  }

  std::int64_t sum_of_channels(const Node& node) const {
    std::int64_t sum = 0;
    for (const std::string_view input : node.inputs) {
      if (channels_of(input) < 0) return -1;
      sum += channels_of(input);
    }
    return sum;
  }

  void add_outputs(const Node& node, std::int64_t channels) {
    for (const std::string_view output : node.outputs)
      if (!output.empty()) found_[std::string(output)] = {false, true, {-1, channels, -1, -1}};
  }

  // The weights that it had in the file; null if these are no constant there.
  const StoredTensor* original_weights(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      const auto at = by_name_.find(name);
      if (at == by_name_.end() || original_.nodes[at->second].type != "Conv") continue;
      const Node& node = original_.nodes[at->second];
      const auto weights = original_.initializer_of.find(node.inputs.size() > 1 ? node.inputs[1] : "");
      if (weights != original_.initializer_of.end()) return &original_.initializers[weights->second];
    }
    return nullptr;
  }

  // Weights are in blocks of what they make, and of what they read if that is in blocks and not one channel
  // for each group.
  void add_convolution(const Node& node, const std::vector<std::string>& names) {
    const StoredTensor* weights = original_weights(names);
    const std::int64_t made = weights && !weights->dims.empty() ? weights->dims[0] : -1;
    const auto stored = optimized_.initializer_of.find(node.inputs[1]);
    if (stored != optimized_.initializer_of.end()) {
      const std::vector<std::int64_t>& dims = optimized_.initializers[stored->second].dims;
      const bool reads_blocks = dims.size() > 1 && dims[1] % block_ == 0 && found_.contains(node.inputs[0]);
      found_[std::string(node.inputs[1])] = {
          true, reads_blocks, weights ? weights->dims : std::vector<std::int64_t>(dims.size(), -1)};
    }
    if (node.inputs.size() > 2 && optimized_.initializer_of.contains(node.inputs[2]))
      found_[std::string(node.inputs[2])] = {false, false, {made}};
    add_outputs(node, made);
  }

  const ModelFile& original_;
  const ModelFile& optimized_;
  std::int64_t block_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  Blockings found_;
};

// ReorderInput alone, from x to y.
std::string reordering_model(std::int64_t channels) {
  std::string bytes;
  pbf_writer model(bytes);
  model.add_int64(1, 8);
  for (const auto& [domain, version] : {std::pair<std::string_view, int>("", 17), {kDomain, 1}}) {
    pbf_writer opset(model, 8);
    opset.add_string(1, domain.data(), domain.size());
    opset.add_int64(2, version);
  }
  pbf_writer graph(model, 7);
  {
    pbf_writer node(graph, 1);
    node.add_string(1, "x");
    node.add_string(2, "y");
    node.add_string(4, "ReorderInput");
    node.add_string(7, kDomain.data(), kDomain.size());
  }
  graph.add_string(2, "reorder");
  for (const auto& [tag, name] : {std::pair(11, "x"), {12, "y"}}) {
    pbf_writer value(graph, static_cast<protozero::pbf_tag_type>(tag));
    value.add_string(1, name);
    pbf_writer type(value, 2), tensor(type, 1);
    tensor.add_int32(1, kFloat);
    if (tag == 12) continue;
    pbf_writer shape(tensor, 2);
    for (const std::int64_t dim : {std::int64_t{1}, channels, std::int64_t{1}, std::int64_t{2}})
      pbf_writer(shape, 1).add_int64(1, dim);
  }
  return bytes;
}

}  // namespace

Blockings find_blocked(const ModelFile& original, const ModelFile& optimized,
                       const std::vector<std::vector<std::string>>& names, std::size_t block,
                       const std::function<std::int64_t(std::string_view)>& channels) {
  Finder finder(original, optimized, block);
  for (std::size_t i = 0; i < optimized.nodes.size(); ++i) finder.add(optimized.nodes[i], names[i], channels);
  return finder.take();
}

std::vector<std::string_view> find_reordered(const ModelFile& optimized) {
  std::vector<std::string_view> values;
  for (const Node& node : optimized.nodes)
    if (is_blocked_operator(node) && node.type == "ReorderInput") values.push_back(node.inputs[0]);
  return values;
}

bool has_blocks(const ModelFile& optimized) {
  return std::ranges::any_of(optimized.nodes, is_blocked_operator);
}

// The second place of the first channel comes behind a block of first places.
std::size_t find_block(const Runtime& runtime) {
  constexpr std::size_t kChannels = 64;
  std::array<float, 2 * kChannels> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  Tensor x;
  x.dtype = OPDUMP_FLOAT32;
  x.element_type = kFloat;
  x.dims = {1, kChannels, 1, 2};
  x.data = numbers.data();
  x.bytes = sizeof numbers;
  try {
    const Engine engine(runtime, reordering_model(kChannels), {});
    const std::array<std::string, 1> from{"x"}, to{"y"};
    const std::array<const Tensor*, 1> inputs{&x};
    const std::vector<Tensor> made = engine.run(from, inputs, to);
    if (made[0].bytes != sizeof numbers || made[0].data == nullptr) return 0;
    std::memcpy(numbers.data(), made[0].data, sizeof numbers);
  } catch (const Failure&) {  // this one has no such layout
    return 0;
  }
  const auto second = static_cast<std::size_t>(std::ranges::find(numbers, 1.0F) - numbers.begin());
  return second < numbers.size() && kChannels % second == 0 ? second : 0;
}

std::optional<Restored> restore(const Tensor& tensor, const Blocking& blocking, std::size_t block) {
  const std::size_t rank = tensor.dims.size(), size = element_type(tensor.element_type).bits / 8;
  if (block == 0 || size == 0 || rank == 0 || rank != blocking.dims.size()) return std::nullopt;
  Restored restored{blocking.dims, {}};
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (restored.dims[axis] < 0) restored.dims[axis] = tensor.dims[axis];
  const auto extent = [&](const std::vector<std::int64_t>& dims, std::size_t axis) {
    return axis < rank ? static_cast<std::size_t>(dims[axis]) : 1;
  };
  const std::size_t stored0 = extent(tensor.dims, 0), stored1 = extent(tensor.dims, 1);
  const std::size_t count0 = extent(restored.dims, 0), count1 = extent(restored.dims, 1);
  std::size_t rest = 1;
  for (std::size_t axis = 2; axis < rank; ++axis) {
    if (restored.dims[axis] != tensor.dims[axis]) return std::nullopt;
    rest *= extent(tensor.dims, axis);
  }
  const std::size_t width0 = blocking.outer ? block : 1, width1 = blocking.inner ? block : 1;
  if (count0 > stored0 || count1 > stored1 || stored0 % width0 != 0 || stored1 % width1 != 0)
    return std::nullopt;
  restored.bytes.resize(count0 * count1 * rest * size);
  const auto* from = static_cast<const std::byte*>(tensor.data);
  std::byte* to = restored.bytes.data();
  for (std::size_t a = 0; a < count0; ++a)
    for (std::size_t b = 0; b < count1; ++b)
      for (std::size_t r = 0; r < rest; ++r, to += size) {
        const std::size_t blocks = a / width0 * (stored1 / width1) + b / width1;
        const std::size_t at = ((blocks * rest + r) * width1 + b % width1) * width0 + a % width0;
        std::memcpy(to, from + at * size, size);
      }
  return restored;
}

}  // namespace opdump::onnx
