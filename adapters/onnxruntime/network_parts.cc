// How a model is cut into parts, and how one of them runs.
#include <set>
#include <utility>

#include "dtypes.h"
#include "network.h"
#include "rewrite.h"

namespace opdump::onnx {
namespace {

// Less is not worth the engines of several parts.
constexpr std::uint64_t kPartBytes = 32 << 20;
// Each has threads and memory of its own; so many parts are enough to keep the disk busy while they run.
constexpr std::size_t kKeptEngines = 8;

}  // namespace

bool Network::is_planned(const Work& work, std::span<const Tensor> inputs) const {
  return plan_.wants == work.wants &&
         std::ranges::equal(plan_.dims, inputs, {}, {}, [](const Tensor& input) { return input.dims; });
}

// Throws Failure: ONNX Runtime does not accept the model.
void Network::plan(const Work& work, std::span<const Tensor> inputs) {
  if (is_planned(work, inputs)) return;
  plan_ = {};
  const std::vector<std::string_view> needed = find_needed(work);
  find_engine(needed);
  cut(work, needed, inputs);
  plan_.wants = work.wants;
  for (const Tensor& input : inputs) plan_.dims.push_back(input.dims);
}

void Network::cut(const Work& work, std::span<const std::string_view> needed,
                  std::span<const Tensor> inputs) {
  const auto sizes = estimate_sizes(model_, expected_, inputs);
  std::uint64_t total = 0;
  for (const std::string_view name : needed)
    if (const auto size = sizes.find(name); size != sizes.end()) total += size->second;
  const std::uint64_t limit = options_.memory_limit_bytes;
  if (work.session == nullptr || total <= std::min(limit, kPartBytes)) return;

  std::vector<std::string_view> all;
  for (const auto& [name, node] : model_.producers) all.push_back(name);
  std::ranges::sort(all);
  find_engine(all);  // it knows the types of all values
  for (const ExpectedOutput& output : expected_)
    if (output.is_tensor && output.element_type != kString) plan_.types[output.name] = output.element_type;
  const std::set<std::string_view> wanted(needed.begin(), needed.end());
  const std::uint64_t part_limit = std::min(limit / 2, std::max(kPartBytes, total / kKeptEngines));
  std::vector<ModelPart> parts = cut_into_parts(
      model_, part_limit, sizes, [&](std::string_view name) { return wanted.contains(name); },
      [&](std::string_view name) { return plan_.types.contains(name); });
  if (parts.size() < 2) return;
  if (total > limit && !std::exchange(reported_parts_, true) && options_.log)
    options_.log(OPDUMP_LOG_INFO, "the values of model " + model_.graph_name +
                                      " exceed the memory limit of " + std::to_string(limit >> 20) +
                                      " MiB together: it runs in " + std::to_string(parts.size()) + " parts");
  engine_.reset();
  plan_.parts = std::move(parts);
  plan_.returns_memory = total > limit;
  for (std::size_t i = 0; i < plan_.parts.size(); ++i) {
    for (const std::string_view name : plan_.parts[i].feeds) plan_.last_part[name] = i;
    if (i < kKeptEngines) plan_.engines.push_back(make_engine(plan_.parts[i]));
  }
}

std::unique_ptr<Engine> Network::make_engine(const ModelPart& part) {
  std::vector<Feed> feeds;
  for (const std::string_view name : part.feeds) {
    const auto type = plan_.types.find(name);
    feeds.push_back({name, type == plan_.types.end() ? 0 : type->second});
  }
  const std::string bytes = encode_part(model_, nodes_of(model_, part), part.values, &feeds);
  const ModelFile file = read_model(bytes);
  std::vector<std::string_view> used;
  for (const StoredTensor& tensor : file.initializers) used.push_back(tensor.name);
  EngineOptions options = engine_options(used);
  options.returns_memory = plan_.returns_memory;
  options.rests = true;
  return std::make_unique<Engine>(runtime_, bytes, options);
}

void Network::run_part(std::size_t index, Values& values) {
  const ModelPart& part = plan_.parts[index];
  if (part.values.empty()) return;
  std::unique_ptr<Engine> made;
  if (index >= plan_.engines.size()) made = make_engine(part);
  std::vector<const Tensor*> feeds;
  for (const std::string_view name : part.feeds) feeds.push_back(&values.at(name));
  const std::vector<std::string> names(part.feeds.begin(), part.feeds.end());
  const std::vector<std::string> outputs(part.values.begin(), part.values.end());
  std::vector<Tensor> results = (made ? *made : *plan_.engines[index]).run(names, feeds, outputs);
  for (std::size_t i = 0; i < results.size(); ++i) values[part.values[i]] = std::move(results[i]);
}

// What no part behind `index` is fed, and nobody keeps.
void Network::let_go(std::size_t index, const Work& work, Values& values) {
  std::erase_if(values, [&](const auto& entry) {
    const auto last = plan_.last_part.find(entry.first);
    const bool is_read = last != plan_.last_part.end() && last->second > index;
    return !is_read && !work.keeps(entry.first) && model_.producers.contains(entry.first);
  });
}

}  // namespace opdump::onnx
